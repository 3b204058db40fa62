import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Random, randomOf } from '../../../lib/testing-random.ts';
import { basic, created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { network, node, pod, vlan } from '../../testing-underlay.ts';
import { acceptedNoteOf } from '../subnet/former-gateways.ts';
import { parseNamespace } from '../../watch/workloads.ts';
import { planned } from '../../testing-reports.ts';
import type { TestCluster } from '../../testing-cluster.ts';

function randomSubnet(random: Random): object {
  return {
    cidrBlock: ['192.168.1.0/28', '192.168.1.0/24', '192.168.2.0/24,fd00:2::/120', '10.16.0.0/25'][random(4)],
    namespaces: random(2) === 0 ? ['lan'] : [],
    vlan: ['', 'v10', 'v20', 'v20'][random(4)],
    vpc: ['', '', 'blue'][random(3)],
    logicalGateway: random(4) === 0,
    u2oInterconnection: random(2) === 0,
    u2oInterconnectionIP: random(4) === 0 ? `192.168.1.${1 + random(4)}` : '',
    u2oFeatures: { overlayOnlyRouting: random(4) === 0 },
    enableDHCP: random(2) === 0,
    enableIPv6RA: random(4) === 0,
    gatewayType: random(4) === 0 ? 'centralized' : '',
    gatewayNode: 'n1',
    routeTable: random(4) === 0 ? 'other' : '',
  };
}

function changeOne(cluster: TestCluster, random: Random): void {
  const isGone = random(5) === 0;
  const deleted = random(6) === 0 ? { deletionTimestamp: '2026-01-09T00:00:00Z' } : {};
  const act = random(7);
  const [name, age] = [`x${random(3)}`, created(1 + random(5))];
  const noted = random(2) === 0 ? {} : { annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, name) } };
  if (act < 2) subnet(cluster, name, isGone ? undefined : randomSubnet(random), { ...age, ...deleted, ...noted });
  else if (act === 2) {
    const spec = { id: 10 * random(2), provider: ['net1', 'net2'][random(2)] };
    vlan(cluster, ['v10', 'v20'][random(2)] ?? '', isGone ? undefined : spec, { ...age, ...deleted });
  } else if (act === 3) {
    const spec = { defaultInterface: 'eth1', excludeNodes: random(2) === 0 ? ['n1'] : [] };
    network(cluster, ['net1', 'net2'][random(2)] ?? '', isGone ? undefined : spec, deleted);
  } else if (act === 4) {
    const key = 'net1.provider-network.kubernetes.io';
    const mtu = ['', '1400', '9000'][random(3)];
    const labels = { [`${key}/ready`]: ['true', 'false'][random(2)], [`${key}/mtu`]: mtu };
    node(cluster, `n${random(3)}`, `192.168.1.${1 + random(6)}`, { labels });
  } else if (act === 5 && isGone) cluster.change('pods', `lan/${name}`, undefined);
  else if (act === 5) {
    const own = { 'ovn.kubernetes.io/dhcp-v4-options': 'lease_time=60' };
    pod(cluster, name, random(2) === 0 ? {} : { annotations: own });
  } else {
    const staticRoutes = random(2) === 0 ? [] : [{ cidr: '10.99.0.0/16', nextHopIP: '192.168.2.9' }];
    vpc(cluster, 'blue', isGone ? undefined : { staticRoutes }, created(1));
  }
}

test('after random changes every plan is current: every key that a change affects became dirty', () => {
  const random = randomOf(7);
  const cluster = basic();
  cluster.change('namespaces', 'lan', parseNamespace({ metadata: meta('lan') }));
  const last = new Map<string, string>();
  for (let round = 0; round < 1500; round += 1) {
    changeOne(cluster, random);
    if (random(3) === 0) continue;
    for (const key of cluster.settle()) last.set(key, planned(cluster, key));
    for (const [key, text] of last) assert.equal(planned(cluster, key), text, `${key} in round ${round}`);
    const ports = [...cluster.pods.keys()].flatMap((key) => cluster.ports(`pod/${key}`));
    const routers = [...cluster.subnets.keys()].flatMap((key) => cluster.ports(`u2o/${key}`));
    const taken = [...ports, ...routers].map(({ allocation: { subnet: of, v4 } }) => `${of} ${v4}`);
    assert.equal(new Set(taken).size, taken.length, taken.join());
  }
});
