import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { growthOf } from '../../../lib/testing-growth.ts';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import type { Random } from '../../../lib/testing-random.ts';
import type { RemoteRoute } from '../../model/objects.ts';
import { network, node, pod, vlan } from '../../testing-underlay.ts';
import { bgpNodeStateView } from '../../watch/bgp.ts';
import { viewOf } from '../../../lib/slices/testing.ts';
import { basic, created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import type { TestCluster } from '../../testing-cluster.ts';
import { parseLoadBalancerPool } from '../../watch/addresses.ts';
import { parseNamespace } from '../../watch/workloads.ts';
import { verdictFingerprint } from '../fingerprint.ts';
import { acceptedNoteOf } from './former-gateways.ts';
import { servedNet } from './served-net.ts';

const names = ['a', 'b', 'c', 'a-b', 'a.b', 'blue-a', 'blue', 'node', 'ts1'];
const cidrs = [
  '10.1.0.0/16',
  '10.1.0.0/24',
  '10.1.0.0/25',
  '10.1.0.128/25,fd01::/112',
  '10.1.1.0/24',
  '10.2.0.0/24,fd01::/64',
  '10.3.0.0/24',
  '192.168.1.0/24',
  'invalid',
];
const networkOf = new Map([
  ['10.1.1.0', 0x0a010100n],
  ['10.3.0.0', 0x0a030000n],
  ['169.254.100.0', 0xa9fe6400n],
]);

function changeSubnet(cluster: TestCluster, random: Random): void {
  const name = pick(random, names);
  const more = {
    ...created(1 + random(5)),
    ...(random(4) === 0 ? { uid: `other-${name}` } : {}),
    ...(random(8) === 0 ? { deletionTimestamp: '2026-01-09T00:00:00Z' } : {}),
    ...(random(2) === 0 ? {} : { annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, name) } }),
  };
  const spec = {
    cidrBlock: pick(random, cidrs),
    vpc: pick(random, ['', '', 'blue', 'blue-a']),
    vlan: pick(random, ['', '', 'v10', 'v20']),
    logicalGateway: random(2) === 0,
    gateway: random(6) === 0 ? '10.1.0.7' : '',
  };
  subnet(cluster, name, random(4) === 0 ? undefined : spec, more);
}

function changeRemote(cluster: TestCluster, random: Random): void {
  const cidr = (): RemoteRoute['cidr'] => ({ family: 4, network: pick(random, [...networkOf.values()]), prefix: 24 });
  const isGone = random(4) === 0;
  if (random(2) === 0) {
    const transit = {
      paths: random(2) === 0 ? ['a'] : [],
      vpc: pick(random, ['ovn-cluster', 'blue']),
      cidrs: [cidr()],
    };
    cluster.change('transitSwitches', 'ts1', isGone ? undefined : { name: 'ts1', ...transit });
    return;
  }
  const routes = Array.from({ length: random(3) }, () => ({
    cidr: cidr(),
    transitSwitch: 'ts1',
    isLearned: random(4) === 0,
    isActive: true,
  }));
  const createdMs = Date.parse('2026-01-03T00:00:00Z');
  const remote = { name: 'west', createdMs, routes, unlisted: [], gateways: [] };
  cluster.change('remoteClusters', 'west', isGone ? undefined : (remote as never));
}

function changeOne(cluster: TestCluster, random: Random): void {
  const isGone = random(4) === 0;
  const age = created(1 + random(5));
  const act = random(12);
  if (act < 5) changeSubnet(cluster, random);
  else if (act === 5) {
    const peer = { remoteVpc: pick(random, ['blue', 'ovn-cluster']), localConnectIP: `10.3.0.${1 + random(2)}/30` };
    const name = pick(random, ['ovn-cluster', 'blue', 'blue-a']);
    const spec = { vpcPeerings: random(2) === 0 ? [peer] : [] };
    vpc(cluster, name, isGone && name !== 'ovn-cluster' ? undefined : spec, age);
  } else if (act === 6)
    vlan(cluster, pick(random, ['v10', 'v20']), isGone ? undefined : { id: 10 * random(2), provider: 'net1' }, age);
  else if (act === 7) network(cluster, 'net1', isGone ? undefined : { defaultInterface: 'eth1' });
  else if (act === 8) node(cluster, 'n1', pick(random, ['192.168.1.9', '10.1.0.9', '172.16.0.1']));
  else if (act === 9) {
    const name = pick(random, ['p1', 'p2', 'p3']);
    const on = { 'ovn.kubernetes.io/logical_switch': pick(random, names) };
    if (isGone) cluster.change('pods', `lan/${name}`, undefined);
    else pod(cluster, name, { annotations: on });
  } else if (act === 10) changeRemote(cluster, random);
  else {
    const conditions = [{ type: 'Validated', status: 'True', observedGeneration: 1 }];
    const raw = { metadata: meta('lb', age), spec: { addresses: ['10.3.0.0/28'] }, status: { conditions } };
    cluster.change('loadBalancerPools', 'lb', isGone ? undefined : parseLoadBalancerPool(raw as never));
  }
}

/** Some changes affect verdicts only at the next reason to judge. It may free addresses, which is such a change. */
function judgeWhatIsDue(cluster: TestCluster): void {
  for (const address of ['172.31.0.1', '172.31.0.2', '172.31.0.3']) {
    node(cluster, 'spare', address);
    cluster.settle();
  }
}

function verdictsOf(cluster: TestCluster): Readonly<Record<string, string>> {
  return Object.fromEntries(cluster.verdicts.entries().map(([name, verdict]) => [name, verdictFingerprint(verdict)]));
}

/** The Subnets of a VPC that have rows, by a look at all verdicts. */
function servedIn(cluster: TestCluster, vpcName: string): readonly string[] {
  const served = [...cluster.verdicts].filter(
    ([name, verdict]) => verdict.vpc === vpcName && servedNet(cluster, name) !== undefined,
  );
  return served.map(([name]) => name).sort();
}

describe('verdicts on Subnets', () => {
  test('are those of all Subnets judged together, after random changes', () => {
    const random = randomOf(11);
    const cluster = basic();
    cluster.change('namespaces', 'lan', parseNamespace({ metadata: meta('lan') }));
    const codes = new Set<string>();
    for (let round = 0; round < 1500; round += 1) {
      changeOne(cluster, random);
      if (random(3) === 0) continue;
      judgeWhatIsDue(cluster);
      const apart = verdictsOf(cluster);
      for (const [name, value] of cluster.subnets) cluster.change('subnets', name, { ...value });
      judgeWhatIsDue(cluster);
      assert.deepEqual(apart, verdictsOf(cluster), `round ${round}`);
      for (const { problem } of cluster.verdicts.values()) codes.add(problem?.code ?? 'none');
      for (const name of ['ovn-cluster', 'blue', 'blue-a'])
        assert.deepEqual(cluster.servedSubnets(name), servedIn(cluster, name), `round ${round}`);
    }
    const expected = ['AddressesInUse', 'CIDROverlap', 'InterconnectOverlap', 'NameConflict', 'VlanNotFound', 'none'];
    assert.deepEqual(
      expected.filter((code) => !codes.has(code)),
      [],
      'every kind of verdict occurs',
    );
  });

  const add = (cluster: TestCluster, i: number): void =>
    subnet(cluster, `s${i}`, { cidrBlock: `10.${64 + (i >> 8)}.${i & 255}.0/24` }, created(2));
  /** At once, as at the start of a controller. */
  const fill = (cluster: TestCluster, count: number): void => {
    for (let i = 0; i < count; i += 1) add(cluster, i);
    cluster.settle();
  };

  test('an edit costs the same with 50 and with 5,000 Subnets', async (context) => {
    const [few, many] = [basic(), basic()];
    fill(few, 50);
    fill(many, 5000);
    let mtu = 1300;
    const edit = (cluster: TestCluster) => () => {
      for (let i = 0; i < 200; i += 1) {
        mtu += 1;
        subnet(cluster, 's7', { cidrBlock: '10.64.7.0/24', mtu }, created(2));
        cluster.settle();
      }
    };
    const growth = await growthOf({ small: edit(few), large: edit(many) });
    context.diagnostic(`an edit among 5,000 takes ${growth.toFixed(1)} times one among 50`);
    // A look at all Subnets would be a hundred times as much.
    assert.ok(growth < 4, `${growth} times`);
  });

  const comeAndGo = (cluster: TestCluster) => () => {
    for (let i = 6000; i < 6100; i += 1) {
      add(cluster, i);
      cluster.settle();
    }
    for (let i = 6000; i < 6100; i += 1) {
      subnet(cluster, `s${i}`, undefined);
      cluster.settle();
    }
  };
  const pool = (cluster: TestCluster): void => {
    const raw = { metadata: meta('lb'), spec: { addresses: ['192.0.2.0/24', '2001:db8::/112'] }, status: {} };
    cluster.change('loadBalancerPools', 'lb', parseLoadBalancerPool(raw as never));
  };
  const learned = (cluster: TestCluster): void => {
    const routes = Array.from({ length: 256 }, (_, i) => {
      return { prefix: `203.0.${i}.0/24`, peer: 'tor', nextHop: '172.30.0.254', preference: 100, vpc: 'ovn-cluster' };
    });
    node(cluster, 'n1', '172.30.0.1');
    cluster.change('bgpNodeStates', 'n1', viewOf(bgpNodeStateView, { metadata: meta('n1') }, routes));
    cluster.restore(new Map());
    cluster.settle();
    assert.equal(cluster.learned.size, 256);
  };
  const beside = [
    ['nothing else', () => undefined],
    ['a LoadBalancerPool', pool],
    ['learned routes', learned],
  ] as const;
  for (const [what, prepare] of beside)
    test(`a network costs the same when it comes as the 50th and as the 2,000th, beside ${what}`, async (context) => {
      const [few, many] = [basic(), basic()];
      for (const cluster of [few, many]) prepare(cluster);
      fill(few, 50);
      fill(many, 2000);
      const growth = await growthOf({ small: comeAndGo(few), large: comeAndGo(many) });
      context.diagnostic(
        `a Subnet beside 2,000 comes and goes in ${growth.toFixed(1)} times the time of one beside 50`,
      );
      assert.ok(growth < 4, `${growth} times`);
    });
});
