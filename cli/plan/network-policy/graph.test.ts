import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawObject } from '../../../lib/kube/types.ts';
import { clusterOf, clusterPolicyOf, closed, namespaceOf, podOf, podsOf, policyOf } from '../../testing-policies.ts';
import { graphOf, type PolicyGraph } from './graph.ts';

/** `web > db: TCP 80`, `~>` where no policy isolates. */
function linksOf({ nodes, edges }: PolicyGraph): readonly string[] {
  const labels = new Map(nodes.map(({ id, label }) => [id, label]));
  return edges.map(
    ({ from, to, ports, isByRule }) =>
      `${labels.get(from)} ${isByRule ? '>' : '~>'} ${labels.get(to)}: ${ports.join(', ')}`,
  );
}

function linksIn(pods: readonly RawObject[], ...policies: readonly RawObject[]): readonly string[] {
  return linksOf(graphOf(namespaceOf(pods, policies)));
}

const web = podOf('web');
const db = podOf('db', { ips: ['10.16.0.3'] });

describe('the links of a graph', () => {
  test('without a policy everything reaches everything, through anywhere', () => {
    assert.deepEqual(linksIn([web, db]), [
      'anywhere ~> pod db: all ports',
      'anywhere ~> pod web: all ports',
      'pod db ~> anywhere: all ports',
      'pod web ~> anywhere: all ports',
    ]);
  });

  test('both ends must allow, and the ports are what both allow', () => {
    const out = policyOf('out', {
      podSelector: { matchLabels: { app: 'web' } },
      policyTypes: ['Egress'],
      egress: [
        { to: [{ podSelector: { matchLabels: { app: 'db' } } }], ports: [{ port: 8000, endPort: 8080 }, { port: 1 }] },
      ],
    });
    const into = policyOf('in', {
      podSelector: { matchLabels: { app: 'db' } },
      ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 'http' }, { port: 2 }] }],
    });
    assert.deepEqual(linksIn([web, db], closed('Ingress', 'Egress'), out, into), ['pod web > pod db: http (TCP)']);
    assert.deepEqual(linksIn([web, db], closed('Ingress', 'Egress'), out), []);
    assert.deepEqual(linksIn([web, db], closed('Ingress', 'Egress'), into), []);
  });

  test('a workload that nothing may reach is closed', () => {
    const isClosed = (...policies: readonly RawObject[]) =>
      graphOf(namespaceOf([web, db], policies))
        .nodes.filter((one) => one.isClosed)
        .map(({ label }) => label);
    const policy = (rule: object) => policyOf('db', { podSelector: { matchLabels: { app: 'db' } }, ingress: [rule] });
    assert.deepEqual(isClosed(), []);
    assert.deepEqual(isClosed(closed('Egress')), []);
    assert.deepEqual(isClosed(closed('Ingress')), ['pod db', 'pod web']);
    assert.deepEqual(isClosed(closed('Ingress'), policy({ from: [{ podSelector: {} }] })), ['pod web']);
    assert.deepEqual(isClosed(policy({ from: [{ podSelector: { matchLabels: { app: 'none' } } }] })), ['pod db']);
    assert.deepEqual(isClosed(closed('Ingress', 'Egress'), policy({ from: [{ podSelector: {} }] })), [
      'pod db',
      'pod web',
    ]);
    assert.deepEqual(isClosed(policy({ ports: [{ port: 'none' }] })), ['pod db']);
  });

  test('pods of one workload reach each other, if policies allow it', () => {
    const pods = (count: number) => podsOf({ kind: 'StatefulSet', name: 'db' }, count);
    const own = policyOf('own', { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] });
    const out = (count: number) => linksIn(pods(count), own).filter((link) => !link.includes('anywhere'));
    assert.deepEqual(out(2), ['StatefulSet db, 2 pods > StatefulSet db, 2 pods: all ports']);
    assert.deepEqual(out(1), []);
  });

  test('peers outside are named in words, once for both directions', () => {
    const team = { namespaceSelector: { matchLabels: { team: 'a' } }, podSelector: { matchLabels: { app: 'web' } } };
    const block = (except?: readonly string[]) => ({ ipBlock: { cidr: '192.0.2.0/24', ...(except && { except }) } });
    const name = (value: string) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': value } } });
    const every = { namespaceSelector: {}, podSelector: { matchExpressions: [{ key: 'x', operator: 'Exists' }] } };
    const policy = policyOf('both', {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from: [team, name('shop'), name('ops')], ports: [{ port: 80 }] },
        { from: [team], ports: [{ port: 90 }] },
      ],
      egress: [
        {
          to: [team, every, block(), block(['192.0.2.8/32', '192.0.2.7/32'])],
          ports: [{ port: 'dns', protocol: 'UDP' }, { port: 5 }],
        },
      ],
    });
    assert.deepEqual(linksIn([web], policy), [
      'pod web > pods app=web in namespaces team=a: TCP 5, dns (UDP)',
      'pod web > pods x in all namespaces: TCP 5, dns (UDP)',
      'pod web > 192.0.2.0/24: TCP 5',
      'pod web > 192.0.2.0/24 except 192.0.2.7/32, 192.0.2.8/32: TCP 5',
      'all pods in namespace ops > pod web: TCP 80',
      'pods app=web in namespaces team=a > pod web: TCP 80, TCP 90',
    ]);
  });

  test('a link that both links with anywhere show is left out, and one with more ports is not', () => {
    const port = (number: number) =>
      policyOf(`p${number}`, { podSelector: { matchLabels: { app: 'db' } }, ingress: [{ ports: [{ port: number }] }] });
    const own = policyOf('own', {
      podSelector: { matchLabels: { app: 'db' } },
      ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 81 }] }],
    });
    const inner = (...policies: readonly RawObject[]) =>
      linksIn([web, db], ...policies).filter((link) => !link.includes('anywhere'));
    assert.deepEqual(inner(port(80)), []);
    assert.deepEqual(inner(port(80), own), ['pod web > pod db: TCP 80, TCP 81']);
    const egress = [{ ports: [{ port: 'http' }] }];
    const named = policyOf('out', { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'], egress });
    assert.deepEqual(inner(named), []);
  });

  test('of a peer that a policy of the whole cluster denies have a cross, and follow the order of its rules', () => {
    const crossed = (...rules: readonly object[]) => {
      const gate = clusterPolicyOf('ClusterNetworkPolicy/gate', { ingress: rules });
      const { nodes, edges } = graphOf({ ...namespaceOf([web], []), ...clusterOf([gate]) });
      const labels = new Map(nodes.map(({ id, label }) => [id, label]));
      return edges.flatMap(({ from, isDenied, ports }) => (isDenied ? [`${labels.get(from)}: ${ports.join()}`] : []));
    };
    const rule = (action: string, team: string | undefined, port?: number) => ({
      action,
      from: [{ namespaces: team === undefined ? {} : { matchLabels: { team } } }],
      ...(port !== undefined && { protocols: [{ tcp: { destinationPort: { number: port } } }] }),
    });
    const [all, ops] = ['all pods in all namespaces', 'all pods in namespaces team=ops'];
    assert.deepEqual(crossed(rule('Deny', 'ops')), [`${ops}: all ports`]);
    assert.deepEqual(crossed(rule('Accept', 'ops'), rule('Deny', undefined, 22)), [`${all}: TCP 22`]);
    assert.deepEqual(crossed(rule('Deny', undefined, 22), rule('Accept', 'ops')), [`${all}: TCP 22`, `${ops}: TCP 22`]);
    assert.deepEqual(crossed(rule('Pass', 'ops'), rule('Deny', undefined)), [`${all}: all ports`]);
    assert.deepEqual(crossed(rule('Accept', 'ops')), []);
  });

  test('between workloads have a cross where a policy of the whole cluster denies what the others show', () => {
    const gate = clusterPolicyOf('ClusterNetworkPolicy/gate', {
      subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: 'db' } } } },
      ingress: [
        { action: 'Deny', from: [{ pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: 'web' } } } }] },
      ],
    });
    const { edges, nodes } = graphOf({ ...namespaceOf([web, db], []), ...clusterOf([gate]) });
    const idOf = (label: string) => nodes.find((one) => one.label === label)?.id;
    const between = edges.filter(({ from, to }) => from === idOf('pod web') && to === idOf('pod db'));
    assert.deepEqual(
      between.map(({ isDenied, ports }) => [isDenied, ports]),
      [[true, ['all ports']]],
    );
  });

  test('say which rules about named ports cannot be drawn exactly', () => {
    const http = { protocols: [{ destinationNamedPort: 'http' }] };
    const number = { protocols: [{ tcp: { destinationPort: { number: 80 } } }] };
    const flawsOf = (...rules: readonly object[]) => {
      const egress = rules.map((one) => ({ to: [{ namespaces: { matchLabels: { team: 'ops' } } }], ...one }));
      const gate = clusterPolicyOf('ClusterNetworkPolicy/gate', { egress });
      return graphOf({ ...namespaceOf([web], []), ...clusterOf([gate]) }).flaws.length;
    };
    assert.equal(flawsOf({ action: 'Deny', ...http }), 0);
    assert.equal(flawsOf({ action: 'Accept', ...number }, { action: 'Accept', ...http }), 0);
    assert.equal(flawsOf({ action: 'Deny' }, { action: 'Accept', ...http }), 0);
    assert.equal(flawsOf({ action: 'Deny', ...number }, { action: 'Accept', ...http }), 1);
  });

  test('the order of the objects changes nothing', () => {
    const policies = [
      closed('Ingress'),
      policyOf('a', { podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }),
    ];
    const pods = [...podsOf({ kind: 'DaemonSet', name: 'd' }, 3), web, db];
    assert.deepEqual(
      graphOf(namespaceOf(pods, policies)),
      graphOf(namespaceOf(pods.toReversed(), policies.toReversed())),
    );
  });
});
