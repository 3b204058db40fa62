import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { namespaceOf, podOf, podsOf, policyOf } from '../../testing-policies.ts';
import { graphOf, type PolicyGraph } from './graph.ts';

function labelsOf({ nodes }: PolicyGraph): readonly string[] {
  return nodes.map(({ label }) => label);
}

describe('the workloads of a graph', () => {
  test('pods of one owner are one node', () => {
    const pods = [
      ...podsOf({ kind: 'StatefulSet', name: 'db' }, 2),
      podOf('tool'),
      ...podsOf({ kind: 'Job', name: 'j' }, 1),
    ];
    assert.deepEqual(labelsOf(graphOf(namespaceOf(pods, []))), [
      'anywhere',
      'Job j, 1 pod',
      'StatefulSet db, 2 pods',
      'pod tool',
    ]);
  });

  test('pods of one owner that policies tell apart are several nodes', () => {
    const owner = { kind: 'StatefulSet', name: 'db' };
    const pods = Array.from({ length: 6 }, (_, index) =>
      podOf(`db-${index}`, { owner, labels: { role: index === 5 ? 'first' : 'second', index: String(index) } }),
    );
    const first = { podSelector: { matchLabels: { role: 'first' } } };
    const split = ['StatefulSet db, 1 pod: db-5', 'StatefulSet db, 5 pods: db-0, db-1, db-2 and 2 more'];
    assert.deepEqual(labelsOf(graphOf(namespaceOf(pods, [policyOf('one', first)]))).slice(1), split);
    const ofPeer = policyOf('two', { podSelector: {}, ingress: [{ from: [first] }] });
    assert.deepEqual(labelsOf(graphOf(namespaceOf(pods, [ofPeer]))).slice(1), split);
  });

  test('addresses in a block, and numbers of a named port, tell pods apart', () => {
    const owner = { kind: 'StatefulSet', name: 'db' };
    const pods = [
      podOf('db-0', { owner, ips: ['10.16.0.2'] }),
      podOf('db-1', { owner, ips: ['10.16.0.3'] }),
      podOf('db-2', { owner, ips: ['10.16.0.3'], ports: [{ name: 'http', containerPort: 80 }] }),
    ];
    const groups = (rule: object) => {
      const { nodes } = graphOf(namespaceOf(pods, [policyOf('one', { podSelector: {}, ingress: [rule] })]));
      return nodes.filter(({ kind }) => kind === 'workload').map(({ pods: names }) => names.join());
    };
    assert.deepEqual(groups({}), ['db-0,db-1,db-2']);
    assert.deepEqual(groups({ from: [{ ipBlock: { cidr: '10.16.0.2/32' } }] }), ['db-0', 'db-1,db-2']);
    assert.deepEqual(groups({ ports: [{ port: 'http' }] }), ['db-2', 'db-0,db-1']);
  });
});
