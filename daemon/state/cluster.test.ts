import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSandbox } from '../testing-sandbox.ts';
import { Cluster, type ClusterObjects, type Mirror } from './cluster.ts';

function mirrorOf<T>(objects: Readonly<Record<string, T>> = {}): Mirror<T> {
  const byName = new Map(Object.entries(objects));
  return { get: (name) => byName.get(name), entries: () => byName.entries(), subscribe: () => () => undefined };
}

function clusterWith(objects: Partial<ClusterObjects>): Cluster {
  return new Cluster('n1', {
    nodes: mirrorOf(),
    pods: mirrorOf(),
    subnets: mirrorOf(),
    interconnects: mirrorOf(),
    gateways: mirrorOf(),
    keySlices: mirrorOf(),
    transitSwitches: mirrorOf(),
    remotes: mirrorOf(),
    providerNetworks: mirrorOf(),
    bgpStates: mirrorOf(),
    vpcDnses: mirrorOf(),
    dnsServices: mirrorOf(),
    apiServices: mirrorOf(),
    ...objects,
  });
}

const pod = {
  namespace: 'default',
  name: 'web',
  uid: 'u1',
  labels: {},
  staticUid: undefined,
  portOwner: 'web.default',
  interfaces: new Map(),
  addressCondition: undefined,
  problems: [],
};

test('the pod of a sandbox is not another pod of the same name', () => {
  const { podUid } = aSandbox;
  assert.equal(clusterWith({ pods: mirrorOf({ 'default/web': pod }) }).podOf(aSandbox), pod);
  assert.equal(podUid, pod.uid);
  assert.equal(clusterWith({ pods: mirrorOf({ 'default/web': { ...pod, uid: 'u2' } }) }).podOf(aSandbox), undefined);
  assert.equal(clusterWith({}).podOf(aSandbox), undefined);
});

test('transit switches join their VPCs, and that of the hub joins the VPC of the interconnect', () => {
  const cluster = clusterWith({
    transitSwitches: mirrorOf({ ts1: { vpc: 'blue', networks: ['169.254.1.0/24'] } }),
    interconnects: mirrorOf({
      hub: {
        gateways: { matchLabels: { edge: 'true' } },
        vpc: 'ovn-cluster',
        hub: '192.0.2.1',
        keyRotation: { intervalMs: 0, maxWaitMs: 0 },
      },
    }),
    remotes: mirrorOf({ west: [{ prefix: '10.32.0.0/16', transitSwitch: 'ts1' }] }),
  });
  assert.deepEqual([...cluster.joinedVpcs.values()], ['blue', 'ovn-cluster']);
  assert.deepEqual(cluster.gatewaySelectors, [{ matchLabels: { edge: 'true' } }]);
  assert.deepEqual(cluster.remoteRoutes, [[{ prefix: '10.32.0.0/16', transitSwitch: 'ts1' }]]);
  assert.deepEqual(cluster.lifelines, {
    hubs: ['192.0.2.1'],
    transitSwitches: [{ name: 'ts1', vpc: 'blue', prefixes: ['169.254.1.0/24'] }],
    clusters: [{ name: 'west', prefixes: [{ prefix: '10.32.0.0/16', transitSwitch: 'ts1' }] }],
  });
});
