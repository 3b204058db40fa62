/** A router announces the lifelines of the node and its cluster to a node whose policy accepts everything: none of them is used. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { BgpNodeStateStatus } from '../../../lib/api/kinds/bgp-node-state.ts';
import {
  apiVersionOf,
  bgpInstances,
  bgpNodeStates,
  endpointSlices,
  interconnects,
  remoteClusters,
  routePolicies,
  transitSwitches,
} from '../../../lib/kube/resources.ts';
import type { Resource } from '../../../lib/kube/types.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import { onlyGobgpd4 } from './only-gobgpd-4.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { untilEstablished } from './until.ts';

const only4 = onlyGobgpd4('does not tell of routes that come and go');
/** Prefix → the holder that the status reports. */
const lifelines: Readonly<Record<string, string>> = {
  '172.20.0.1/32': 'the API server',
  '172.20.0.0/24': 'the API server',
  '172.31.2.0/31': "a network on the node's own links",
  '172.31.1.128/25': "a network on the node's own links",
  '172.20.9.1/32': 'node n2',
  '10.96.0.0/16': 'Services',
  '10.96.0.1/32': 'Services',
  '203.0.113.7/32': 'Services',
  '169.100.0.0/22': 'transit switch ts',
  '10.18.4.0/24': 'cluster west',
  '172.20.77.1/32': 'a gateway of cluster west',
  '172.20.88.1/32': 'the hub',
  '10.16.5.0/24': 'subnet ovn-default',
  'fd00:31:1::80/124': "a network on the node's own links",
  'fd00:18::/64': 'cluster west',
  'fd00:20::1/128': 'the API server',
};
/** The first is a part of a prefix that the other cluster offers to another VPC. */
const harmless = ['10.19.4.0/24', '198.51.100.0/24', '2001:db8:5::/48'];
let bed: SpeakerBed;

before(async () => {
  const announces = [...Object.keys(lifelines), ...harmless];
  bed = await openSpeakerBed(
    [
      { kind: 'frr', name: 'tor', asn: 65101, announces },
      { kind: 'frr', name: 'other', asn: 65102 },
    ],
    true,
  );
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  await bed.createNode('n2', '172.20.9.1', {});
  await bed.createSubnet('ovn-default', '10.16.0.0/16');
  await bed.createService('lb', '203.0.113.7');
  for (const [at, address] of ['172.20.0.1', 'fd00:20::1'].entries()) await createSlice(`kubernetes-${at}`, address);
  await bed.create(interconnects, 'default', {
    clusterName: 'east',
    hub: '172.20.88.1:6650',
    tokenSecretRef: { name: 't' },
  });
  await createWithStatus(transitSwitches, 'ts', { cidr: '169.100.0.0/22,fd00:100::/64' });
  await createWithStatus(transitSwitches, 'blue', { cidr: '169.101.0.0/22', vpc: 'tenant' });
  const route = { transitSwitch: 'ts', nextHop: '169.100.0.2', origin: 'connected' };
  await createWithStatus(remoteClusters, 'west', {
    gateways: [{ chassis: 'c', address: '172.20.77.1' }],
    routes: [
      { ...route, prefix: '10.18.0.0/16', state: 'Active' },
      { ...route, prefix: 'fd00:18::/48', state: 'Backup' },
      { ...route, transitSwitch: 'blue', prefix: '10.19.0.0/16', state: 'Active' },
    ],
  });
});

after(() => (bed as SpeakerBed | undefined)?.close());

/** Creates an EndpointSlice like the API server's own. */
async function createSlice(name: string, address: string): Promise<void> {
  await bed.kube.create(endpointSlices, {
    apiVersion: apiVersionOf(endpointSlices),
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports: [{ port: 6443 }],
  });
}

async function createWithStatus(resource: Resource, name: string, status: object): Promise<void> {
  await bed.create(resource, name, {});
  await bed.kube.patch(resource, { name }, 'merge', { status }, { subresource: 'status' });
}

async function nodeState(): Promise<BgpNodeStateStatus> {
  const { status = {} } = (await bed.kube.get(bgpNodeStates, { name: 'n1' })) as { status?: BgpNodeStateStatus };
  return status;
}

test('routes that cover a lifeline of the node or its cluster are not used', only4, async () => {
  const tor = bed.lab.frr('tor');
  await bed.createPeer(bed.lab.frr('other'), 4);
  for (const family of [4, 6] as const)
    await bed.createPeer(tor, family, { import: { vpc: 'ovn-cluster' } }, `tor-${family}`);
  await untilEstablished(tor);
  const everything = [
    { cidr: '0.0.0.0/0', le: 32 },
    { cidr: '::/0', le: 128 },
  ];
  for (const rules of [[{}], [{ match: { prefixes: everything } }]]) {
    await bed.kube.patch(routePolicies, { name: 'wide' }, 'apply', {
      apiVersion: apiVersionOf(routePolicies),
      kind: 'RoutePolicy',
      metadata: { name: 'wide' },
      spec: { direction: 'Import', bgpPeers: ['tor-4', 'tor-6'], rules },
    });
    await eventuallyPasses(async () => {
      const { learned = [], peers = [] } = await nodeState();
      assert.deepEqual(learned.map(({ prefix }) => prefix).toSorted(), harmless);
      const refused = peers.flatMap(({ notUsed = [] }) => notUsed);
      assert.deepEqual([...new Set(refused.map(({ reason }) => reason))], ['OwnPrefix']);
      const count = refused.reduce((sum, each) => sum + each.count, 0);
      assert.equal(count, Object.keys(lifelines).length);
    });
  }
  const { peers = [] } = await nodeState();
  const named = peers.flatMap(({ ownPrefixes = [] }) => ownPrefixes);
  assert.equal(named.length, 8 + 3);
  for (const { prefix, holder } of named) assert.equal(holder, lifelines[prefix], prefix);
});

test('a used prefix is released when it becomes a lifeline, and used again afterwards', only4, async () => {
  const used = async () => ((await nodeState()).learned ?? []).map(({ prefix }) => prefix).toSorted();
  const rest = harmless.filter((prefix) => prefix !== '198.51.100.0/24');
  await createSlice('kubernetes-late', '198.51.100.9');
  await eventuallyPasses(async () => assert.deepEqual(await used(), rest));
  await bed.kube.delete(endpointSlices, { namespace: 'default', name: 'kubernetes-late' });
  await eventuallyPasses(async () => assert.deepEqual(await used(), harmless));
  bed.lab.node.run('ip', 'link', 'add', 'late', 'type', 'veth', 'peer', 'name', 'later');
  bed.lab.node.run('ip', 'addr', 'add', '198.51.100.1/24', 'dev', 'late');
  for (const end of ['late', 'later']) bed.lab.node.run('ip', 'link', 'set', end, 'up');
  await eventuallyPasses(async () => assert.deepEqual(await used(), rest));
  bed.lab.node.run('ip', 'link', 'del', 'late');
  await eventuallyPasses(async () => assert.deepEqual(await used(), harmless));
});
