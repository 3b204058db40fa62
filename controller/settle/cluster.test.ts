import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { viewOf } from '../../lib/slices/testing.ts';
import type { BgpNodeState } from '../model/objects.ts';
import { randomOf } from '../../lib/testing-random.ts';
import type { Random } from '../../lib/testing-random.ts';
import { planSubnetConditions } from '../plan/conditions.ts';
import { nodeProblems } from '../plan/node/problems.ts';
import { planKey } from '../plan/plan.ts';
import { parseIp } from '../watch/addresses.ts';
import { bgpNodeStateView } from '../watch/bgp.ts';
import { remoteClusterView, parseSubnet, parseTransitSwitch, parseVpc } from '../watch/networks.ts';
import { parseNamespace, parseNode, parsePod } from '../watch/workloads.ts';
import { recordOfRow } from './address/records.ts';
import { chooseLearned, rivalsOf } from './bgp/learned-route.ts';
import { TestCluster } from '../testing-cluster.ts';
import { planned } from '../testing-reports.ts';

type Metadata = Readonly<Record<string, unknown>>;

function meta(name: string, more: Metadata = {}): never {
  return { name, uid: `uid-${name}`, resourceVersion: '1', generation: 1, ...more } as never;
}

const subnet = (name: string, spec: object, more: Metadata = {}) => parseSubnet({ metadata: meta(name, more), spec });
const node = (name: string, address: string) =>
  parseNode({ metadata: meta(name), status: { addresses: [{ type: 'InternalIP', address }] } });
const pod = (name: string, nodeName: string | undefined, more: Metadata = {}, status = {}) =>
  parsePod({ metadata: meta(name, { namespace: 'ns', ...more }), spec: { nodeName }, status });

function basic(): TestCluster {
  const cluster = new TestCluster();
  cluster.change('vpcs', 'ovn-cluster', parseVpc({ metadata: meta('ovn-cluster') }));
  cluster.change('subnets', 'join', subnet('join', { cidrBlock: '100.64.0.0/16' }));
  cluster.change('subnets', 'ovn-default', subnet('ovn-default', { cidrBlock: '10.16.0.0/24' }));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  cluster.change('nodes', 'n1', node('n1', '172.30.0.1'));
  return cluster;
}

const allocated = (cluster: TestCluster, name: string) => cluster.ports(`pod/ns/${name}`)[0]?.allocation;

describe('addresses', () => {
  test('one event makes few keys dirty', () => {
    const cluster = basic();
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('pods', 'ns/a', pod('a', 'n1'));
    assert.deepEqual([...cluster.settle()].sort(), ['pod/ns/a', 'subnet/ovn-default']);
    assert.equal(allocated(cluster, 'a')?.v4, '10.16.0.2');
    cluster.change('pods', 'ns/a', pod('a', 'n1', {}, { phase: 'Running' }));
    assert.deepEqual([...cluster.settle()], ['pod/ns/a']);
  });

  test('a pod that is being deleted keeps its address; a finished pod does not', () => {
    const cluster = basic();
    cluster.change('pods', 'ns/a', pod('a', 'n1'));
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('pods', 'ns/a', pod('a', 'n1', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    cluster.settle();
    assert.ok(allocated(cluster, 'a'));
    cluster.change('pods', 'ns/a', pod('a', 'n1', {}, { phase: 'Failed' }));
    cluster.settle();
    assert.equal(allocated(cluster, 'a'), undefined);
  });

  test('a new pod with the name of a former pod is another claimant', () => {
    const cluster = basic();
    cluster.change('pods', 'ns/a', pod('a', 'n1'));
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('pods', 'ns/a', pod('a', 'n1', { uid: 'second' }));
    cluster.settle();
    assert.equal(allocated(cluster, 'a')?.v4, '10.16.0.3');
  });

  test('a port in the database keeps its address without any other record', () => {
    const cluster = basic();
    cluster.change('pods', 'ns/a', pod('a', 'n1'));
    cluster.change('pods', 'ns/b', pod('b', 'n1'));
    const row = recordOfRow('0a:00:00:00:00:07 10.16.0.7', 'ovn-default');
    assert.ok(row);
    cluster.restore(new Map([['b.ns', row]]));
    cluster.settle();
    assert.deepEqual(allocated(cluster, 'b'), {
      subnet: 'ovn-default',
      v4: '10.16.0.7',
      mac: '0a:00:00:00:00:07',
    });
    assert.equal(allocated(cluster, 'a')?.v4, '10.16.0.2');
  });

  test('a reserved IP object holds its address for the pod of its name, before and after', () => {
    const cluster = basic();
    const spec = {
      podName: 'a',
      namespace: 'ns',
      subnet: 'ovn-default',
      v4IpAddress: '10.16.0.2',
      macAddress: '0a:00:00:00:00:02',
    };
    const labels = { 'ovn.kubernetes.io/subnet': 'ovn-default', 'ovn.kubernetes.io/ip_reserved': 'true' };
    cluster.change('ips', 'a.ns', parseIp({ metadata: meta('a.ns', { labels }), spec }));
    cluster.restore(new Map());
    cluster.change('pods', 'ns/b', pod('b', 'n1'));
    cluster.settle();
    assert.equal(allocated(cluster, 'b')?.v4, '10.16.0.3');
    cluster.change('pods', 'ns/a', pod('a', 'n1'));
    cluster.settle();
    assert.equal(allocated(cluster, 'a')?.v4, '10.16.0.2');
    cluster.change('pods', 'ns/a', undefined);
    cluster.settle();
    cluster.change('pods', 'ns/c', pod('c', 'n1', { annotations: { 'ovn.kubernetes.io/ip_address': '10.16.0.2' } }));
    cluster.settle();
    assert.equal(cluster.addressProblem('pod/ns/c')?.code, 'AddressConflict');
    cluster.change('ips', 'a.ns', undefined);
    cluster.settle();
    assert.equal(allocated(cluster, 'c')?.v4, '10.16.0.2');
  });

  test('a node that is registered again gets its former address, unless the address has another holder', () => {
    const cluster = basic();
    cluster.restore(new Map());
    cluster.settle();
    const annotations = { 'ovn.kubernetes.io/allocated': 'true', 'ovn.kubernetes.io/ip_address': '100.64.0.7' };
    const anew = (name: string, uid: string) => parseNode({ metadata: meta(name, { uid, annotations }) });
    cluster.change('nodes', 'n7', anew('n7', 'first'));
    cluster.settle();
    assert.equal(cluster.ports('node/n7')[0]?.allocation.v4, '100.64.0.7');
    cluster.change('nodes', 'n7', anew('n7', 'second'));
    cluster.change('nodes', 'n8', anew('n8', 'copy'));
    cluster.settle();
    assert.equal(cluster.ports('node/n7')[0]?.allocation.v4, '100.64.0.7');
    assert.notEqual(cluster.ports('node/n8')[0]?.allocation.v4 ?? '100.64.0.7', '100.64.0.7');
  });

  test('a pod and a node whose ports would have one name', () => {
    const cluster = basic();
    cluster.change('nodes', 'x.ns', node('x.ns', '172.30.0.9'));
    cluster.change('pods', 'ns/node-x', pod('node-x', 'n1'));
    cluster.restore(new Map());
    cluster.settle();
    assert.equal(cluster.ports('node/x.ns')[0]?.allocation.subnet, 'join');
    assert.deepEqual(planKey(cluster, 'pod/ns/node-x').rows, []);
    assert.equal(cluster.addressProblem('pod/ns/node-x')?.code, 'NameConflict');
  });
});

describe('verdicts', () => {
  test('an object in force stays in force, even against an older object that is edited', () => {
    const cluster = basic();
    const older = { creationTimestamp: '2026-01-01T00:00:00Z' };
    cluster.change('subnets', 'old', subnet('old', { cidrBlock: '10.20.0.0/24' }, older));
    cluster.change(
      'subnets',
      'new',
      subnet('new', { cidrBlock: '10.21.0.0/24' }, { creationTimestamp: '2026-01-02T00:00:00Z' }),
    );
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('subnets', 'old', subnet('old', { cidrBlock: '10.21.0.0/16' }, older));
    cluster.settle();
    assert.equal(cluster.verdicts.get('new')?.problem, undefined);
    assert.equal(cluster.verdicts.get('old')?.problem?.code, 'CIDROverlap');
    assert.equal(cluster.verdicts.get('old')?.net?.v4?.cidr.prefix, 24, 'it goes on with what it had');
    cluster.change('subnets', 'new', undefined);
    cluster.settle();
    assert.equal(cluster.verdicts.get('old')?.problem, undefined);
  });

  test('the address of the API server is not a pod address, in the default VPC', () => {
    const cluster = new TestCluster({
      aclTier: false,
      ipv6Selection: false,
      loadBalancers: true,
      apiServer: ['10.96.0.1'],
    });
    for (const name of ['ovn-cluster', 'blue']) cluster.change('vpcs', name, parseVpc({ metadata: meta(name) }));
    cluster.change('subnets', 'wide', subnet('wide', { cidrBlock: '10.96.0.0/16' }));
    cluster.change('subnets', 'apart', subnet('apart', { cidrBlock: '10.96.0.0/16', vpc: 'blue' }));
    cluster.restore(new Map());
    cluster.settle();
    assert.match(cluster.verdicts.get('wide')?.problem?.message ?? '', /contains 10\.96\.0\.1, .*Service kubernetes/);
    assert.equal(cluster.verdicts.get('apart')?.problem, undefined);
  });

  test('the source address of a pod that connects to itself belongs to no pod of any VPC', () => {
    const cluster = basic();
    cluster.change('vpcs', 'blue', parseVpc({ metadata: meta('blue') }));
    for (const [name, cidrBlock] of [
      ['local', 'fd69::/64'],
      ['free', 'fd69:1::/64'],
    ] as const)
      cluster.change('subnets', name, subnet(name, { cidrBlock, vpc: 'blue' }));
    cluster.restore(new Map());
    cluster.settle();
    assert.match(cluster.verdicts.get('local')?.problem?.message ?? '', /contains fd69::5, .*own Service/);
    assert.equal(cluster.verdicts.get('free')?.problem, undefined);
  });

  test('names that make the same port group names', () => {
    const cluster = basic();
    cluster.change(
      'subnets',
      'a-b',
      subnet('a-b', { cidrBlock: '10.20.0.0/24' }, { creationTimestamp: '2026-01-01T00:00:00Z' }),
    );
    cluster.change(
      'subnets',
      'a.b',
      subnet('a.b', { cidrBlock: '10.21.0.0/24' }, { creationTimestamp: '2026-01-02T00:00:00Z' }),
    );
    cluster.change('subnets', 'node', subnet('node', { cidrBlock: '10.22.0.0/24' }));
    cluster.restore(new Map());
    cluster.settle();
    assert.equal(cluster.verdicts.get('a-b')?.problem, undefined);
    assert.equal(cluster.verdicts.get('a.b')?.problem?.code, 'NameConflict');
    assert.equal(cluster.verdicts.get('node')?.problem?.code, 'NameConflict');
  });
});

describe('the subnet of the nodes', () => {
  const nodeAddresses = (cluster: TestCluster, name: string) => {
    const { v4, v6 } = cluster.ports(`node/${name}`)[0]?.allocation ?? {};
    return [v4, v6];
  };
  const dual = (more: Metadata = {}) => subnet('join', { cidrBlock: '100.64.0.0/16,fd00:64::/64' }, more);

  test('gets a second family: its nodes get an address of it, also over a restart', () => {
    const cluster = basic();
    cluster.restore(new Map());
    cluster.settle();
    assert.deepEqual(nodeAddresses(cluster, 'n1'), ['100.64.0.2', undefined]);
    cluster.change('subnets', 'join', dual());
    assert.ok(cluster.settle().has('node/n1'));
    assert.deepEqual(nodeAddresses(cluster, 'n1'), ['100.64.0.2', 'fd00:64::2']);

    const later = basic();
    later.change('subnets', 'join', dual());
    const record = recordOfRow('0a:00:00:00:00:01 100.64.0.9', 'join');
    assert.ok(record);
    later.restore(new Map([['node-n1', record]]));
    later.settle();
    assert.deepEqual(nodeAddresses(later, 'n1'), ['100.64.0.9', 'fd00:64::2']);
    assert.equal(later.ports('node/n1')[0]?.allocation.mac, '0a:00:00:00:00:01');
  });

  test('is being deleted: a new node still gets an address', () => {
    const cluster = basic();
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('subnets', 'join', dual({ deletionTimestamp: '2026-01-01T00:00:00Z' }));
    cluster.change('nodes', 'n2', node('n2', '172.30.0.2'));
    cluster.settle();
    assert.deepEqual(nodeAddresses(cluster, 'n2'), ['100.64.0.4', 'fd00:64::3']);
  });

  test('is full: the node has a problem, and no node gets a service address before each node has its first address', () => {
    const cluster = basic();
    cluster.change('subnets', 'join', subnet('join', { cidrBlock: '100.64.0.0/30' }));
    cluster.restore(new Map());
    cluster.settle();
    cluster.change('nodes', 'n2', node('n2', '172.30.0.2'));
    cluster.settle();
    assert.match(nodeProblems(cluster, 'n1')[0]?.message ?? '', /node n1 has no service address/);
    assert.deepEqual(
      nodeProblems(cluster, 'n2').map(({ code }) => code),
      ['NoAvailableAddress'],
    );
    cluster.change('subnets', 'join', subnet('join', { cidrBlock: '100.64.0.0/29' }));
    cluster.settle();
    for (const name of ['n1', 'n2']) assert.deepEqual(nodeProblems(cluster, name), []);
  });
});

test('a subnet of a family that nodes have no address of is Ready, with a message that names the limit', () => {
  const cluster = basic();
  cluster.change('subnets', 'six', subnet('six', { cidrBlock: 'fd00:6::/64' }));
  cluster.restore(new Map());
  cluster.settle();
  const ready = () => planSubnetConditions(cluster, 'six', undefined).find(({ type }) => type === 'Ready');
  assert.equal(ready()?.status, 'True');
  assert.match(ready()?.message ?? '', /IPv6 traffic reaches neither nodes .* subnet join has no IPv6 CIDR/);
  cluster.change('subnets', 'join', subnet('join', { cidrBlock: '100.64.0.0/16,fd00:64::/64' }));
  assert.ok(cluster.settle().has('subnet/six'));
  assert.equal(ready()?.message, '');
});

function randomIsolation(random: Random): object {
  return {
    ...(random(4) === 0 ? { private: true, allowSubnets: ['10.31.0.0/30', 'bad'].slice(random(2)) } : {}),
    ...(random(6) === 0 ? { acls: [{ direction: 'to-lport', priority: 5, match: 'ip4', action: 'drop' }] } : {}),
    allowEWTraffic: random(2) === 0,
  };
}

function randomServices(random: Random): object {
  return {
    ...(random(3) === 0 ? { gateway: `10.30.0.${1 + random(4)}` } : {}),
    ...(random(3) === 0 ? { vips: ['10.30.0.5', 'fd00::5'] } : {}),
    enableDHCP: random(3) === 0,
    enableIPv6RA: random(3) === 0,
    enableMulticastSnoop: random(3) === 0,
    ...(random(5) === 0 ? { excludeIps: ['10.30.0.0..10.30.0.255'] } : {}),
  };
}

function randomGateway(random: Random): object {
  const egress = { externalEgressGateway: `192.0.2.${random(2)}`, policyRoutingPriority: 9, policyRoutingTableID: 9 };
  return {
    ...(random(2) === 0 ? { gatewayType: 'centralized', enableEcmp: random(3) === 0 } : {}),
    ...(random(4) === 0 ? { gatewayNodeSelectors: [{ matchLabels: { zone: 'a' } }] } : { gatewayNode: 'n1,n.2,n3' }),
    ...(random(4) === 0 ? egress : {}),
    ...(random(8) === 0 ? { provider: 'net.ns.ovn' } : {}),
  };
}

function randomVpc(random: (limit: number) => number): [string, ReturnType<typeof parseVpc> | undefined] {
  const name = ['ovn-cluster', 'blue'][random(2)] ?? '';
  const spec = {
    namespaces: random(3) === 0 ? ['ns'] : [],
    defaultSubnet: ['', 's0', 's1'][random(3)],
    staticRoutes: random(2) === 0 ? [] : [{ cidr: '0.0.0.0/0', nextHopIP: '10.30.0.9' }],
  };
  return [name, random(4) === 0 ? undefined : parseVpc({ metadata: meta(name), spec })];
}

/** Within subnets, the join subnet, other clusters and the user's routes among them. */
function randomLearned(random: Random): [string, BgpNodeState | undefined] {
  const name = ['n0', 'n1', 'n-2', 'n9'][random(4)] ?? '';
  const prefixes = ['0.0.0.0/0', '10.0.0.0/8', '10.30.0.0/28', '10.77.0.0/16', '100.64.0.0/24', 'fd00::/8', '::/0'];
  const learned = prefixes
    .filter(() => random(2) === 0)
    .map((prefix) => {
      const vpc = random(4) === 0 ? {} : { vpc: 'ovn-cluster' };
      return { prefix, peer: 'tor', nextHop: '172.30.0.254', preference: 100 + random(2), ...vpc };
    });
  return [name, random(5) === 0 ? undefined : viewOf(bgpNodeStateView, { metadata: meta(name) }, learned)];
}

function changeOthers(cluster: TestCluster, random: Random): void {
  const metadata = meta('west');
  const routes = [{ prefix: ['10.77.0.0/16', '10.0.0.0/8'][random(2)], transitSwitch: 'ts', state: 'Active' }];
  const west = viewOf(remoteClusterView, { metadata }, routes);
  cluster.change('remoteClusters', 'west', random(3) === 0 ? undefined : west);
  const transit = parseTransitSwitch({ metadata: meta('ts'), status: { vpc: ['ovn-cluster', 'blue'][random(2)] } });
  cluster.change('transitSwitches', 'ts', random(4) === 0 ? undefined : transit);
}

/** Names and addresses that are in each other's way among them. */
function randomNode(random: Random): readonly [string, ReturnType<typeof node> | undefined] {
  const name = ['n0', 'n1', 'n-2', 'n.2', 'n3'][random(5)] ?? '';
  const creationTimestamp = `2026-01-0${1 + random(3)}T00:00:00Z`;
  const labels = random(2) === 0 ? {} : { zone: 'a' };
  const annotations = { 'ovn.kubernetes.io/chassis': `c${random(2)}` };
  const status = {
    addresses: [{ type: 'InternalIP', address: `172.30.${random(2)}.${random(3)}` }],
    conditions: [{ type: 'Ready', status: random(3) === 0 ? 'Unknown' : 'True' }],
  };
  return [
    name,
    random(4) === 0
      ? undefined
      : parseNode({ metadata: meta(name, { creationTimestamp, labels, annotations }), status }),
  ];
}

describe('dependencies', () => {
  test('after random changes every plan is current: every key that a change affects became dirty', () => {
    const random = randomOf(99);
    const cluster = basic();
    cluster.restore(new Map());
    const last = new Map<string, string>();
    const cidrs = [
      '10.30.0.0/29',
      '10.30.0.0/24',
      '10.31.0.0/30',
      '10.16.0.0/25',
      '172.30.0.0/24',
      'bad',
      '10.32.0.0/24,fd00::/120',
    ];
    for (let round = 0; round < 3000; round += 1) {
      const index = random(6);
      const act = random(12);
      if (act < 5) {
        const annotations = {
          ...(random(8) === 0 ? { 'ovn.kubernetes.io/ip_address': `10.30.0.${2 + random(5)}` } : {}),
          ...(random(4) === 0 ? { 'ovn.kubernetes.io/port_vips': '10.30.0.5,fd00::5' } : {}),
        };
        const value =
          random(3) === 0
            ? undefined
            : pod(
                `p${index}`,
                ['n0', 'n1', 'n-2', 'n.2', undefined][random(5)],
                { uid: `u${random(2)}`, annotations },
                random(8) === 0 ? { phase: 'Succeeded' } : {},
              );
        cluster.change('pods', `ns/p${index}`, value);
      } else if (act < 7) {
        if (random(8) === 0) cluster.setChassis(new Set(['c0', 'c1'].slice(random(3))));
        cluster.change('nodes', ...randomNode(random));
      } else if (act < 10) {
        const accepted = ['10.30.0.0/24 10.30.0.1', '10.30.0.0/24 10.30.0.2 10.30.0.1@5'][random(4)];
        const deleting = {
          ...(random(5) === 0 ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
          ...(accepted === undefined ? {} : { annotations: { 'isthmus.network/accepted': accepted } }),
        };
        const spec = {
          cidrBlock: cidrs[random(cidrs.length)],
          namespaces: random(2) === 0 ? ['ns'] : [],
          ...randomIsolation(random),
          ...randomServices(random),
          ...randomGateway(random),
        };
        cluster.change(
          'subnets',
          `s${index % 3}`,
          random(4) === 0 ? undefined : subnet(`s${index % 3}`, spec, deleting),
        );
      } else if (act === 10) {
        const labels = random(2) === 0 ? {} : { 'ovn.kubernetes.io/subnet': 's0' };
        const spec = { podName: `p${index}`, namespace: 'ns', subnet: 's0', v4IpAddress: `10.30.0.${2 + random(5)}` };
        cluster.change(
          'ips',
          `p${index}.ns`,
          random(2) === 0 ? undefined : parseIp({ metadata: meta(`p${index}.ns`, { labels }), spec }),
        );
      } else
        cluster.change(
          'namespaces',
          'ns',
          parseNamespace({ metadata: meta('ns', { labels: { round: String(random(2)) } }) }),
        );
      if (random(12) === 0) cluster.change('vpcs', ...randomVpc(random));
      if (random(6) === 0) cluster.change('bgpNodeStates', ...randomLearned(random));
      if (random(20) === 0) changeOthers(cluster, random);
      if (random(40) === 0) {
        const cidrBlock = ['100.64.0.0/16', '100.64.0.0/16,fd00:64::/64', '100.64.0.0/30,fd00:64::/126'][random(3)];
        cluster.change('subnets', 'join', subnet('join', { cidrBlock }));
      }
      if (random(3) === 0) continue;
      for (const key of cluster.settle()) last.set(key, planned(cluster, key));
      const rivals = rivalsOf(cluster);
      for (const { learned } of cluster.bgpNodeStates.values())
        for (const prefix of learned.keys())
          assert.deepEqual(
            cluster.learned.get(prefix),
            chooseLearned(cluster, prefix, rivals),
            `${prefix} in round ${round}`,
          );
      for (const [key, text] of last) assert.equal(planned(cluster, key), text, `${key} in round ${round}`);
      const taken = [...cluster.pods.values()].flatMap(({ name }) => allocated(cluster, name)?.v4 ?? []);
      assert.equal(new Set(taken).size, taken.length);
    }
  });
});

test('parsing does not throw on any input', () => {
  for (const junk of [
    undefined,
    null,
    1,
    'x',
    [],
    [null],
    { cidrBlock: 5, excludeIps: 'x', namespaces: [1, null], namespaceSelectors: [3], addresses: 7 },
  ]) {
    const raw = { metadata: meta('x'), spec: junk, status: junk };
    for (const parse of [parsePod, parseNode, parseNamespace, parseSubnet, parseVpc, parseIp])
      assert.equal(parse(raw).name, 'x');
    const routes = [junk, { prefix: junk, preference: junk, transitSwitch: junk }];
    assert.equal(viewOf(bgpNodeStateView, raw, routes).learned.size, 0);
    assert.equal(viewOf(remoteClusterView, raw, routes).routes.length, 0);
    const cluster = basic();
    cluster.change('subnets', 'x', parseSubnet(raw));
    cluster.restore(new Map());
    cluster.settle();
    assert.ok(cluster.verdicts.get('x')?.problem);
  }
});
