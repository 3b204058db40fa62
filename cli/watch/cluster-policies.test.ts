import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { RawObject, Resource } from '../../lib/kube/types.ts';
import { closedPassMessage } from '../../lib/policies/closed-pass.ts';
import { parseLabelledNode, readClusterPolicies } from './cluster-policies.ts';

const meta = (name: string): RawObject['metadata'] => ({
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:01Z',
});

/** What the API server serves of the group, or a status. */
const served: Discovery = { resources: [{ kind: 'ClusterNetworkPolicy' }] };
type Discovery = { readonly resources: readonly { readonly kind: string }[] } | number;

/** Answers lists by their plurals: with objects, or a status. A kind that is not given is not served. */
function read(answers: Readonly<Record<string, readonly RawObject[] | number>>, discovery = served) {
  const list = ({ plural }: Resource): Promise<RawObject[]> => {
    const answer = answers[plural] ?? 404;
    if (typeof answer === 'number') return Promise.reject(new KubeApiError(answer, 'Refused', `${plural} is refused`));
    return Promise.resolve([...answer]);
  };
  const request = (): Promise<unknown> =>
    typeof discovery === 'number'
      ? Promise.reject(new KubeApiError(discovery, 'Refused', 'refused'))
      : Promise.resolve(discovery);
  return readClusterPolicies({ list, request }, new AbortController().signal, []);
}

const egress = (to: object) => [{ action: 'Deny', to: [to] }];
const node: RawObject = {
  metadata: { ...meta('n1'), labels: { role: 'db' } },
  status: {
    addresses: [
      { type: 'InternalIP', address: '172.30.1.1' },
      { type: 'ExternalIP', address: 'FD00::1' },
      { type: 'Hostname', address: 'n1' },
    ],
  },
};

test('kinds that are not served have no policies', async () => {
  const { cluster, unread } = await read({});
  assert.deepEqual([cluster.policies.size, cluster.nodes, unread], [0, [], []]);
});

test('policies have the names of their kinds, and the time of their creation', async () => {
  const spec = { subject: { namespaces: {} }, egress: egress({ namespaces: {} }) };
  const { cluster } = await read({
    clusternetworkpolicies: [{ metadata: meta('gate'), spec: { ...spec, tier: 'Baseline', priority: 3 } }],
    adminnetworkpolicies: [{ metadata: meta('gate'), spec: { ...spec, priority: 4 } }],
    baselineadminnetworkpolicies: [{ metadata: meta('default'), spec }],
  });
  assert.deepEqual(
    [...cluster.policies].map(([name, { tier, createdMs }]) => [name, tier, createdMs % 60_000]),
    [
      ['ClusterNetworkPolicy/gate', 'Baseline', 1000],
      ['AdminNetworkPolicy/gate', 'Admin', 1000],
      ['BaselineAdminNetworkPolicy/default', 'Baseline', 1000],
    ],
  );
  assert.equal(cluster.isPassClosed, false);
});

test('nodes are read where a rule names them', async () => {
  const of = (to: object) => ({ clusternetworkpolicies: [{ metadata: meta('a'), spec: { egress: egress(to) } }] });
  const named = await read({ ...of({ nodes: {} }), nodes: [node] });
  assert.deepEqual(named.cluster.nodes, [{ labels: { role: 'db' }, addresses: ['172.30.1.1', 'fd00::1'] }]);
  const unnamed = await read({ ...of({ namespaces: {} }), nodes: 403 });
  assert.deepEqual([unnamed.cluster.nodes, unnamed.unread], [[], []]);
  assert.deepEqual(
    (await read({ ...of({ nodes: {} }), nodes: 403 })).unread.map(({ what }) => what),
    ['nodes'],
  );
  assert.deepEqual(parseLabelledNode({ metadata: meta('new') }), { labels: {}, addresses: [] });
});

test('a missing right is named, and any other error ends the command', async () => {
  const { unread } = await read({ clusternetworkpolicies: 403, adminnetworkpolicies: [] });
  assert.deepEqual(
    unread.map(({ code, what }) => [code, what]),
    [['Forbidden', 'clusternetworkpolicies']],
  );
  assert.match(
    unread[0]?.message ?? '',
    /^no permission to read clusternetworkpolicies \(.*\); what they decide is not part of this answer$/,
  );
  await assert.rejects(read({ adminnetworkpolicies: 500 }), KubeApiError);
});

test('a kind that is not served has no policies, also if listing it is refused', async () => {
  const unread = async (discovery: Discovery) =>
    (await read({ clusternetworkpolicies: 403, adminnetworkpolicies: 403 }, discovery)).unread.map(({ what }) => what);
  assert.deepEqual(await unread(served), ['clusternetworkpolicies']);
  assert.deepEqual(await unread(404), []);
  assert.deepEqual(await unread(403), ['clusternetworkpolicies', 'adminnetworkpolicies']);
  await assert.rejects(unread(500), KubeApiError);
});

test('a condition says that OVN has no ACL tiers', async () => {
  const condition = {
    type: 'Ready',
    status: 'False',
    reason: 'NotSupported',
    message: `spec.ingress[0]: ${closedPassMessage}`,
  };
  const status = { conditions: [condition] };
  const { cluster } = await read({ adminnetworkpolicies: [{ metadata: meta('a'), spec: {}, status }] });
  assert.equal(cluster.isPassClosed, true);
});
