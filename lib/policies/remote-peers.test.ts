import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchesSelector } from '../api/label-selector.ts';
import type { LabelSelector } from '../api/kinds/shared.ts';
import { parsePolicyRules } from './parse.ts';
import { parseClusterRules } from './parse-cluster.ts';
import { listedClusters, namesCluster, readRemoteSelector, remotePeerOf, remotePeersOf } from './remote-peers.ts';
import { namesClusters, peerId, peerSelector, policyLabels } from './selection.ts';

const key = 'isthmus.network/cluster';
const metadata = { name: 'p', namespace: 'shop', uid: '1', resourceVersion: '1' };
const expression = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', ...values: string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});
const peerOf = (pods: LabelSelector, namespaces?: LabelSelector) => ({ pods, namespaces });
const clustersOf = (pods: LabelSelector, namespaces?: LabelSelector): string => {
  const remote = remotePeerOf(peerId('shop', peerOf(pods, namespaces)));
  return ['east', 'west', 'north'].filter((name) => remote !== undefined && namesCluster(remote, name)).join();
};

describe('peers in other clusters', () => {
  it('are named by the label in either selector, by all operators', () => {
    assert.equal(clustersOf({ matchLabels: { [key]: 'west' } }), 'west');
    assert.equal(clustersOf({}, { matchLabels: { [key]: 'west' } }), 'west');
    assert.equal(clustersOf(expression('In', 'west', 'east')), 'east,west');
    assert.equal(clustersOf({}, expression('Exists')), 'east,west,north');
    assert.equal(clustersOf({}, expression('NotIn', 'west')), 'east,north');
    assert.equal(clustersOf(expression('In', 'west', 'east'), expression('NotIn', 'west')), 'east');
    assert.equal(clustersOf(expression('In', 'west'), expression('DoesNotExist')), '', 'a contradiction');
  });

  it('are of this cluster without the label, or with DoesNotExist alone', () => {
    for (const peer of [peerOf({ matchLabels: { app: 'db' } }), peerOf({}, {}), peerOf(expression('DoesNotExist'))]) {
      assert.equal(namesClusters(peer), false);
      assert.equal(remotePeerOf(peerId('shop', peer)), undefined);
    }
    assert.equal(peerId('shop', peerOf(expression('DoesNotExist'))), peerId('shop', peerOf({})));
  });

  it('are never a pod of this cluster, whatever labels its author gives it', () => {
    const labels = { app: 'db', [key]: 'west', cluster: 'west' };
    const pod = policyLabels({ namespace: 'shop', labels }, labels);
    for (const selector of [{ matchLabels: { [key]: 'west' } }, expression('NotIn', 'east'), expression('Exists')])
      for (const peer of [peerOf(selector), peerOf({}, selector)])
        assert.equal(matchesSelector(peerSelector('shop', peer), pod), false);
    assert.ok(matchesSelector(peerSelector('shop', peerOf({})), pod), 'a plain peer matches it');
  });

  it('have the same set in all clusters for equal selectors, in any order of their parts', () => {
    const one = remotePeerOf(peerId('shop', peerOf({ matchLabels: { app: 'db', tier: 'x', [key]: 'west' } })));
    const other = remotePeerOf(
      peerId('shop', peerOf({ matchLabels: { tier: 'x', app: 'db' }, ...expression('Exists') })),
    );
    assert.equal(one?.set, other?.set);
    assert.deepEqual([one && listedClusters(one), other && listedClusters(other)], [['west'], []]);
    const elsewhere = remotePeerOf(peerId('team', peerOf({ matchLabels: { app: 'db', tier: 'x', [key]: 'west' } })));
    assert.notEqual(one?.set, elsewhere?.set, 'pods of the namespace of the policy');
  });

  it('travel as a text that selects the same pods, and nothing else is read', () => {
    const remote = remotePeerOf(peerId('shop', peerOf({ matchLabels: { app: 'db', [key]: 'west' } })));
    assert.ok(remote);
    const selector = readRemoteSelector(remote.set, remote.selector);
    assert.ok(selector);
    const labelsOf = (namespace: string, app: string) => policyLabels({ namespace, labels: { app } }, {});
    assert.deepEqual(
      [labelsOf('shop', 'db'), labelsOf('team', 'db'), labelsOf('shop', 'web')].map((one) =>
        matchesSelector(selector, one),
      ),
      [true, false, false],
    );
    for (const text of ['', '{}', '[1,2]', '[[],["x"]]', `${remote.selector} `, 'x'.repeat(5000)])
      assert.equal(readRemoteSelector(remote.set, text), undefined, text.slice(0, 20));
  });

  it('are found in NetworkPolicies and policies of the whole cluster', () => {
    const policy = { metadata, spec: { ingress: [{ from: [{ podSelector: { matchLabels: { [key]: 'west' } } }] }] } };
    assert.equal(remotePeersOf(parsePolicyRules(policy)).length, 1);
    const rule = { action: 'Accept', from: [{ pods: { namespaceSelector: {}, podSelector: expression('Exists') } }] };
    const cluster = { metadata, spec: { tier: 'Admin', priority: 1, subject: { namespaces: {} }, ingress: [rule] } };
    assert.equal(remotePeersOf(parseClusterRules(cluster)).length, 1);
  });

  it('are refused where an address that is not known yet would pass, or where ports have names', () => {
    const of = (rule: object, direction: 'ingress' | 'egress' = 'ingress') => {
      const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, [direction]: [rule] };
      return parseClusterRules({ metadata, spec })[direction]?.[0];
    };
    const west = { namespaces: { matchLabels: { [key]: 'west' } } };
    for (const action of ['Deny', 'Pass']) {
      const rule = of({ action, from: [west] });
      assert.deepEqual([rule?.action, rule?.peers.blocks.length], ['Deny', 2], 'it denies everything');
      assert.match(rule?.flaw ?? '', /isthmus\.network\/cluster with? ?|isthmus\.network\/cluster and/);
    }
    const named = of({ action: 'Accept', to: [west], protocols: [{ destinationNamedPort: 'http' }] }, 'egress');
    assert.deepEqual([named?.peers, named?.ports], [{ pods: [], blocks: [] }, undefined]);
    assert.match(named?.flaw ?? '', /a named port with .* accepts nothing/);
  });
});
