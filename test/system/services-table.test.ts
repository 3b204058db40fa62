/** The nftables table of Services, by packets: from the node, from pods and from outside. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { exec, TestNode } from '../../daemon/testing.ts';
import { NodeServices } from '../../daemon/apply/services.ts';
import { ServiceCheck } from '../../daemon/host/service-check.ts';
import { ServiceTable } from '../../daemon/host/service-table.ts';
import { planNodeElements } from '../../daemon/plan/services/node-elements.ts';
import { planSkeleton, renderNamedChain } from '../../daemon/plan/services/skeleton.ts';
import { Services } from '../../daemon/state/services.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import type { EndpointSlice, Service } from '../../lib/services/service.ts';
import { addDefaultRoutes, addPods, ServiceBed } from './node-services-bed.ts';
import { TestMirror } from '../../daemon/testing-mirror.ts';

const node = new TestNode();
const services = new TestMirror<Service>();
const slices = new TestMirror<EndpointSlice>();
const cidrs = new TestMirror<readonly string[]>();
const state = new Services({ services, slices, cidrs }, (key) => engine.changed(key));
let masqueraded = new Set<4 | 6>([4, 6]);
const bed = new ServiceBed();
let podsNamespace = '';
const nodeElements = () =>
  planNodeElements({
    ownPods: ['10.16.0.2', 'fd00:10::2'],
    podNetworks: ['10.16.0.0/16', '100.64.0.0/16', 'fd00:10::/64', 'fd00:64::/64'],
    serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'],
    internalIps: ['172.30.9.11'],
    otherNodes: ['172.30.9.12'],
    addresses: ['172.30.9.11', 'fd00:9::11', '127.0.0.1', '::1'],
    nodePortNetworks: [],
    ownAddresses: ['100.64.0.2', 'fd00:64::2'],
    serviceAddresses: ['100.64.0.9', 'fd00:64::9'],
  });
const engine = newEngine();

function newEngine(): NodeServices {
  return new NodeServices({
    services: state,
    table: new ServiceTable({ skeleton: planSkeleton(), renderChain: renderNamedChain }),
    node: () => ({ node: 'n1', zone: '', masqueraded }),
    nodeElements,
    hasExternalIps: true,
    onWritten: () => undefined,
    onResult: () => undefined,
  });
}

interface Endpoint {
  readonly address: string;
  readonly node?: string;
}

/** Sets a Service and the IPv4 and IPv6 slices of its endpoints, and waits until the kernel has it. */
async function set(name: string, spec: object, endpoints: readonly (string | Endpoint)[], status = {}): Promise<void> {
  const metadata = { namespace: 'default', name, uid: name, resourceVersion: '1' };
  services.set(`default/${name}`, parseService({ kind: 'Service', metadata, spec, status }));
  const all = endpoints.map((one) => (typeof one === 'string' ? { address: one, node: 'n2' } : { node: 'n1', ...one }));
  for (const family of ['IPv4', 'IPv6']) {
    const labels = { 'kubernetes.io/service-name': name };
    const own = all.filter(({ address }) => address.includes(':') === (family === 'IPv6'));
    slices.set(
      `default/${name}-${family}`,
      parseEndpointSlice({
        kind: 'EndpointSlice',
        metadata: { ...metadata, labels },
        addressType: family,
        ports: ['TCP', 'UDP', 'SCTP'].map((protocol) => ({ name: protocol, protocol, port: 8080 })),
        endpoints: own.map(({ address, node: nodeName }) => ({ addresses: [address], nodeName })),
      }),
    );
  }
  await engine.untilApplied();
  assert.equal(engine.problem, undefined);
}

const ports = [
  { name: 'TCP', protocol: 'TCP', port: 80, nodePort: 30_080 },
  { name: 'UDP', protocol: 'UDP', port: 80, nodePort: 30_080 },
];
const pods = ['10.16.0.2', '10.16.0.3', 'fd00:10::2', 'fd00:10::3'];
const clusterIPs = ['10.96.0.10', 'fd00:96::a'];
const outside = (): string => node.outside;

before(async () => {
  node.enterNamespace();
  podsNamespace = addPods(node);
  addDefaultRoutes(node);
  for (const number of [2, 3, 4, 5])
    for (const address of [`10.16.0.${number}`, `fd00:10::${number}`])
      await bed.serve(`pod${number}${address.includes(':') ? 'v6' : ''}`, address, 8080, podsNamespace);
  for (const address of ['172.30.9.11', 'fd00:9::11'])
    await bed.serve(`node${address.includes(':') ? 'v6' : ''}`, address, 8080, undefined);
  engine.start();
  await engine.untilApplied();
});
after(async () => {
  await engine.close();
  await bed.close();
  await node.stop();
});

describe('a Service with endpoints', () => {
  before(() => set('web', { type: 'NodePort', clusterIPs, externalIPs: ['192.0.2.7'], ports }, pods));

  for (const kind of ['tcp', 'udp'])
    for (const [family, ip, nodeIp, own, masquerade, name] of [
      [4, '10.96.0.10', '172.30.9.11', '100.64.0.2', '100.64.0.9', /^pod[23] /],
      [6, 'fd00:96::a', 'fd00:9::11', 'fd00:64::2', 'fd00:64::9', /^pod[23]v6 /],
    ] as const)
      test(`${kind} over IPv${family}: node, pod and outside reach it, and pods see the node's addresses`, async () => {
        const more = kind === 'udp' ? ['udp'] : [];
        const seen = async (from: string | undefined, to: string, port: number, ...rest: string[]): Promise<string> => {
          const answer = await bed.ask(from, to, port, ...more, ...rest);
          assert.match(answer, name, `${to} ${port}`);
          return answer.split(' ')[1] ?? '';
        };
        assert.equal(await seen(undefined, ip, 80), own);
        assert.equal(await seen(undefined, nodeIp, 30_080), own);
        assert.equal(await seen(outside(), ip, 80), masquerade);
        assert.equal(await seen(outside(), nodeIp, 30_080), masquerade);
        assert.equal(await seen(podsNamespace, ip, 80, family === 4 ? '10.16.0.2' : 'fd00:10::2'), masquerade);
      });

  test('an external IP, and all endpoints in turn', async () => {
    const answers = await bed.askTimes(24, outside(), '192.0.2.7', 80);
    assert.deepEqual([...new Set(answers)].toSorted(), ['pod2 100.64.0.9', 'pod3 100.64.0.9']);
  });

  test('an unknown port of a ClusterIP is refused at once, and an unallocated one is dropped', async () => {
    for (const from of [undefined, outside(), podsNamespace]) {
      const ask = (...what: readonly [string, number, ...string[]]): Promise<string> => bed.ask(from, ...what);
      assert.equal(await ask('10.96.0.10', 81), 'refused', `TCP from ${from}`);
      assert.equal(await ask('10.96.0.10', 81, 'udp'), 'refused', `UDP from ${from}`);
      assert.equal(await ask('fd00:96::a', 81), 'refused', `IPv6 from ${from}`);
      assert.equal(await ask('10.96.0.99', 80), 'silent', `unallocated from ${from}`);
    }
  });

  test('the endpoints change: every connection gets one of the new ones', async () => {
    await set('web', { type: 'NodePort', clusterIPs, ports }, ['10.16.0.3', '10.16.0.4', '10.16.0.5']);
    const answers = new Set(await bed.askTimes(40, undefined, '10.96.0.10', 80));
    assert.deepEqual([...answers].toSorted(), ['pod3 100.64.0.2', 'pod4 100.64.0.2', 'pod5 100.64.0.2']);
    assert.equal(await bed.ask(undefined, 'fd00:96::a', 80), 'refused', 'no endpoint in this family');
    assert.match(await bed.ask(outside(), '172.30.9.11', 30_080, 'udp'), /^pod[345] /);
  });

  test('the endpoint is the node itself', async () => {
    await set('web', { type: 'NodePort', clusterIPs, ports }, [{ address: '172.30.9.11' }]);
    assert.match(await bed.ask(undefined, '10.96.0.10', 80), /^node /);
    assert.match(await bed.ask(podsNamespace, '10.96.0.10', 80, '10.16.0.2'), /^node /);
    assert.match(await bed.ask(outside(), '172.30.9.11', 30_080), /^node /);
  });

  test('without endpoints every client is refused', async () => {
    await set('web', { type: 'NodePort', clusterIPs, ports }, []);
    for (const from of [undefined, outside(), podsNamespace])
      assert.equal(await bed.ask(from, '10.96.0.10', 80), 'refused');
    assert.equal(await bed.ask(outside(), '172.30.9.11', 30_080, 'udp'), 'refused');
  });
});

describe('policies and addresses of load balancers', () => {
  const loadBalancer = { loadBalancer: { ingress: [{ ip: '192.0.2.8' }] } };
  const type = 'LoadBalancer';

  test('externalTrafficPolicy Local keeps the source, and drops without a local endpoint', async () => {
    const spec = { type, externalTrafficPolicy: 'Local', clusterIPs: ['10.96.0.11'], ports };
    await set('local', spec, ['10.16.0.2', { address: '10.16.0.3' }], loadBalancer);
    for (const [ip, port] of [
      ['172.30.9.11', 30_080],
      ['192.0.2.8', 80],
    ] as const)
      assert.deepEqual(new Set(await bed.askTimes(10, outside(), ip, port)), new Set(['pod3 172.30.9.1']));
    const inside = new Set(await bed.askTimes(24, undefined, '192.0.2.8', 80));
    assert.deepEqual([...inside].toSorted(), ['pod2 172.30.9.11', 'pod3 172.30.9.11']);
    await set('local', spec, ['10.16.0.2'], loadBalancer);
    assert.equal(await bed.ask(outside(), '192.0.2.8', 80), 'silent');
    assert.equal(await bed.ask(outside(), '172.30.9.11', 30_080), 'silent');
    assert.equal(await bed.ask(undefined, '192.0.2.8', 80), 'pod2 172.30.9.11');
  });

  test('under externalTrafficPolicy Local, a pod of another node is outside for a NodePort, and inside for other addresses', async () => {
    const spec = { type, externalTrafficPolicy: 'Local', clusterIPs: ['10.96.0.11'], ports };
    await set('local', spec, ['10.16.0.2'], loadBalancer);
    const [own, other] = ['10.16.0.2', '10.16.0.3'];
    assert.equal(await bed.ask(podsNamespace, '172.30.9.11', 30_080, own), 'pod2 100.64.0.9');
    assert.equal(await bed.ask(podsNamespace, '172.30.9.11', 30_080, other), 'silent');
    assert.equal(await bed.ask(podsNamespace, '192.0.2.8', 80, other), 'pod2 100.64.0.9');
    await set('local', spec, [{ address: '10.16.0.2' }], loadBalancer);
    assert.equal(await bed.ask(podsNamespace, '172.30.9.11', 30_080, other), 'pod2 100.64.0.9');
    assert.equal(await bed.ask(podsNamespace, '172.30.9.11', 30_080, other, 'udp'), 'pod2 100.64.0.9');
  });

  test('under externalTrafficPolicy Local, another node keeps its address and gets a port by which its replies return', async () => {
    const spec = { type, externalTrafficPolicy: 'Local', clusterIPs: ['10.96.0.11'], ports };
    await set('local', spec, [{ address: '10.16.0.2' }], loadBalancer);
    exec('ip', '-n', outside(), 'addr', 'add', '172.30.9.12/24', 'dev', 'eth0');
    for (const more of [[], ['udp']]) {
      assert.equal(await bed.ask(outside(), '172.30.9.11', 30_080, '172.30.9.12', ...more), 'pod2 172.30.9.12');
      assert.equal(await bed.ask(undefined, '172.30.9.11', 30_080, '172.30.9.11', ...more), 'pod2 172.30.9.11');
    }
    const portsOf = (client: string): readonly number[] => {
      // Without masqueraded connections of earlier tests.
      const flows = exec('conntrack', '-L', '--orig-src', client, '--reply-src', '10.16.0.2', '--reply-dst', client);
      return [...flows.matchAll(/dport=30080 src=10\.16\.0\.2 \S+ sport=8080 dport=(\d+)/g)].map(([, port]) =>
        Number(port),
      );
    };
    const [ofNode, ofOther] = [portsOf('172.30.9.11'), portsOf('172.30.9.12')];
    assert.ok(ofNode.length > 0 && ofNode.every((port) => port < 61_000), ofNode.join());
    assert.ok(ofOther.length > 0 && ofOther.every((port) => port >= 61_000), ofOther.join());
  });

  test('internalTrafficPolicy Local: the endpoints of the node, none for packets of pods', async () => {
    const spec = { internalTrafficPolicy: 'Local', clusterIPs: ['10.96.0.11'], ports };
    await set('local', spec, ['10.16.0.2', { address: '10.16.0.3' }]);
    assert.deepEqual(new Set(await bed.askTimes(10, undefined, '10.96.0.11', 80)), new Set(['pod3 100.64.0.2']));
    assert.equal(await bed.ask(podsNamespace, '10.96.0.11', 80), 'silent');
    await set('local', spec, ['10.16.0.2']);
    assert.equal(await bed.ask(undefined, '10.96.0.11', 80), 'silent');
    await set('local', spec, []);
    assert.equal(await bed.ask(undefined, '10.96.0.11', 80), 'refused');
    assert.equal(await bed.ask(podsNamespace, '10.96.0.11', 80), 'refused');
  });

  test('loadBalancerSourceRanges drop other clients of the address, and of no other', async () => {
    const spec = {
      type,
      clusterIPs: ['10.96.0.11'],
      ports,
      loadBalancerSourceRanges: ['172.30.9.0/30', '172.30.9.1/32'],
    };
    await set('local', spec, ['10.16.0.2'], loadBalancer);
    assert.match(await bed.ask(outside(), '192.0.2.8', 80), /^pod2 /);
    assert.equal(await bed.ask(undefined, '192.0.2.8', 80), 'silent');
    await set('local', { ...spec, loadBalancerSourceRanges: ['203.0.113.0/24'] }, ['10.16.0.2'], loadBalancer);
    assert.equal(await bed.ask(outside(), '192.0.2.8', 80), 'silent');
    assert.match(await bed.ask(outside(), '172.30.9.11', 30_080), /^pod2 /);
  });

  test('without a service address, clients outside are refused under policy Cluster', async () => {
    masqueraded = new Set();
    engine.nodeChanged();
    await set('local', { type, clusterIPs: ['10.96.0.11'], ports }, ['10.16.0.2'], loadBalancer);
    assert.equal(await bed.ask(outside(), '192.0.2.8', 80), 'refused');
    assert.equal(await bed.ask(outside(), '172.30.9.11', 30_080), 'refused');
    assert.equal(await bed.ask(outside(), '10.96.0.11', 80), 'refused');
    assert.match(await bed.ask(undefined, '192.0.2.8', 80), /^pod2 /);
    masqueraded = new Set([4, 6]);
    engine.nodeChanged();
    await engine.untilApplied();
    assert.match(await bed.ask(outside(), '192.0.2.8', 80), /^pod2 100.64.0.9$/);
  });
});

test('an endpoint on the node may have the port of a NodePort without endpoints', async () => {
  const [tcp] = ports;
  await set('empty', { type: 'NodePort', clusterIPs: ['10.96.0.20'], ports: [{ ...tcp, nodePort: 8080 }] }, []);
  await set('host', { clusterIPs: ['10.96.0.21'], ports: [tcp] }, [{ address: '172.30.9.11' }]);
  for (const from of [undefined, podsNamespace]) assert.match(await bed.ask(from, '10.96.0.21', 80), /^node /);
  assert.equal(await bed.ask(outside(), '172.30.9.11', 8080), 'refused');
  services.set('default/empty', undefined);
  await engine.untilApplied();
});

test('a server of the node at a ClusterIP, whose connections are not tracked, is left alone', async () => {
  const ip = '10.96.0.22';
  await set('dns', { clusterIPs: [ip], ports: [{ ...ports[0], port: 8080 }] }, ['10.16.0.2']);
  assert.match(await bed.ask(undefined, ip, 8080), /^pod2 /);
  exec('ip', 'addr', 'add', `${ip}/32`, 'dev', 'lo');
  const hook = (at: string): string =>
    `chain ${at} { type filter hook ${at} priority -300; ip saddr ${ip} notrack; ip daddr ${ip} notrack; }`;
  exec('nft', `table inet cache { ${hook('prerouting')}; ${hook('output')}; }`);
  await bed.serve('cache', ip, 8080, undefined);
  assert.match(await bed.ask(undefined, ip, 8080), /^cache /);
  await bed.stop('cache');
  exec('nft', 'delete', 'table', 'inet', 'cache');
  exec('ip', 'addr', 'del', `${ip}/32`, 'dev', 'lo');
  assert.match(await bed.ask(undefined, ip, 8080), /^pod2 /);
});

describe('session affinity', () => {
  const spec = {
    type: 'NodePort',
    clusterIPs: ['10.96.0.12', 'fd00:96::c'],
    ports: [{ ...ports[0], nodePort: 30_081 }],
    sessionAffinity: 'ClientIP',
  };

  test('an address that is added with policy Local serves clients outside by an endpoint on the node itself', async () => {
    const plain = { type: 'ClusterIP', clusterIPs: ['10.96.0.13'], ports: [ports[0]], sessionAffinity: 'ClientIP' };
    const endpoints = [{ address: '172.30.9.11' }];
    await set('host', plain, ['10.16.0.2']);
    await set('host', plain, endpoints);
    await set('host', { ...plain, externalIPs: ['192.0.2.13'], externalTrafficPolicy: 'Local' }, endpoints);
    const answers = await bed.askTimes(4, outside(), '192.0.2.13', 80);
    assert.deepEqual(new Set(answers), new Set(['node 172.30.9.1']));
  });

  test('a client keeps its endpoint from its first connection on, over each address', async () => {
    await set('sticky', spec, [
      '10.16.0.2',
      '10.16.0.3',
      '10.16.0.4',
      '10.16.0.5',
      'fd00:10::2',
      'fd00:10::3',
      'fd00:10::4',
    ]);
    for (const [from, ip, port] of [
      [undefined, '10.96.0.12', 80],
      [undefined, 'fd00:96::c', 80],
      [outside(), '172.30.9.11', 30_081],
      [outside(), 'fd00:9::11', 30_081],
    ] as const) {
      const answers = await bed.askTimes(12, from, ip, port);
      assert.match(answers[0] ?? '', /^pod/);
      assert.equal(new Set(answers).size, 1, `${ip}: ${answers.join()}`);
    }
  });

  test('other clients get other endpoints', async () => {
    for (let host = 20; host < 40; host += 1)
      exec('ip', '-n', outside(), 'addr', 'add', `172.30.9.${host}/24`, 'dev', 'eth0');
    const names = new Set<string>();
    for (let host = 20; host < 40; host += 1)
      names.add((await bed.ask(outside(), '172.30.9.11', 30_081, `172.30.9.${host}`)).split(' ')[0] ?? '');
    assert.ok(names.size > 1, [...names].join());
  });
});

test('another process finds everything as it is and writes nothing; edits are repaired', async () => {
  const list = (): string =>
    exec('nft', '-n', 'list', 'table', 'inet', 'isthmus-services').replaceAll(/ expires \d+\w*/g, '');
  const before = list();
  const other = newEngine();
  other.start();
  await other.untilApplied();
  assert.equal(list(), before);
  for (const edit of [
    ['delete', 'element', 'inet', 'isthmus-services', 'cluster-ips4', '{ 10.96.0.10 }'],
    ['add', 'element', 'inet', 'isthmus-services', 'cluster-ips4', '{ 10.96.0.77 }'],
  ]) {
    exec('nft', ...edit);
    other.doubt();
    await other.untilApplied();
    assert.equal(list(), before, edit.join(' '));
  }
  await other.close();
});

describe('the table as a whole', () => {
  const options = { skeleton: planSkeleton(), renderChain: renderNamedChain };
  const elements = ['10.96.1.1', '10.96.1.2'].flatMap((ip, at) => [
    { set: 'services4', key: `${ip} . 6 . 80`, value: `goto all4-${at + 1}` },
    { set: 'sticky4', key: `${ip} . 6 . 80`, value: 'goto learn-10800' },
    { set: 'slots4', key: `${ip} . 6 . 80 . 0`, value: '10.16.0.2 . 8080' },
  ]);
  const chains = new Set(['all4-1', 'all4-2', 'learn-10800']);
  const list = (): string => exec('nft', 'list', 'ruleset').replaceAll(/ expires \w+/g, '');

  test('a check accepts it beside the present table and refuses what nft refuses, and writes nothing', async () => {
    const before = list();
    const check = new ServiceCheck(options);
    await check.create(elements, chains);
    const unknown = { set: 'services4', key: '10.96.1.3 . 6 . 80', value: 'goto nowhere' };
    await assert.rejects(check.create([...elements, unknown], chains), /nft --check/);
    assert.equal(list(), before);
  });

  test('a replaced table is intact also after a chain for another number of endpoints', async () => {
    const table = new ServiceTable(options);
    await table.read();
    await table.create(elements, chains);
    const added = [{ set: 'services4', key: '10.96.1.3 . 6 . 80', value: 'goto all4-3' }];
    await table.apply({ removed: [], added }, ['all4-3']);
    assert.ok((await new ServiceTable(options).read()).isIntact);
  });

  test('elements of every set are as nft writes them, and are deleted again', async () => {
    const table = new ServiceTable(options);
    await table.read();
    await table.create([], chains);
    const empty = list();
    const all = [
      ...elementsOfEverySet(4, '10.96.2.1', '10.16.0.9'),
      ...elementsOfEverySet(6, 'fd00:96::2', 'fd00:10::9'),
    ];
    await table.apply({ removed: [], added: all }, []);
    const written = list();
    assert.notEqual(written, empty);
    await table.apply({ removed: all, added: [] }, []);
    assert.equal(list(), empty);
    for (const { set, key, value } of all)
      exec('nft', 'add', 'element', 'inet', 'isthmus-services', set, `{ ${key}${value && ` : ${value}`} }`);
    assert.equal(list(), written);
    const missing = { set: 'cluster-ips4', key: '10.96.2.77', value: '' };
    await assert.rejects(table.apply({ removed: [missing], added: all }, []), /ENOENT/);
    assert.equal(list(), written);
  });
});

function elementsOfEverySet(family: 4 | 6, address: string, endpoint: string) {
  const [key, other] = [`${address} . 6 . 80`, `${address} . 132 . 65535`];
  const parts: readonly (readonly [set: string, key: string, value?: string])[] = [
    ...['own-pods', 'internal-addresses', 'other-nodes', 'node-addresses', 'cluster-ips'].map(
      (set) => [set, address] as const,
    ),
    ...['frontends', 'kept', 'node-local', 'ranged'].map((set) => [set, key] as const),
    ['services', key, `goto all${family}-1`],
    ['outside', key, 'accept'],
    ['refused', other, 'drop'],
    ['outside-refused', other, 'goto refuse'],
    ['sticky', key, 'goto learn-1'],
    ['slots', `${other} . 300`, `${endpoint} . 8080`],
    ['local-slots', `${key} . 0`, `${endpoint} . 1`],
    ['sticky-endpoints', `${key} . ${endpoint} . 8080`],
  ];
  return parts.map(([set, member, value = '']) => ({ set: `${set}${family}`, key: member, value }));
}
