/** Goldens: objects as users and the controller write them → wanted host network and OVS rows. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { RawObject } from '../../lib/kube/types.ts';
import { mostGoldenLines, renderGolden, rowsOf } from '../../lib/testing-golden.ts';
import { renderHostNetwork } from '../host/printable.ts';
import type { LinkNetwork } from '../model/host-network.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Subnet } from '../model/subnet.ts';
import { joinSliced } from '../../lib/slices/slice.ts';
import { sliceOf, viewOf } from '../../lib/slices/testing.ts';
import { bgpNodeStateView } from '../watch/bgp-node-state.ts';
import { parseNode } from '../watch/node.ts';
import { parsePod } from '../watch/pod.ts';
import { remoteClusterView } from '../watch/remote-cluster.ts';
import { parseSubnet } from '../watch/subnet.ts';
import { planHostNetwork } from './host-network.ts';
import type { LifelineFacts } from '../../lib/bgp/lifelines.ts';
import { planLearnedRoutes } from './learned-routes.ts';
import { planLocalOvs } from './local-ovs.ts';
import { planMirror } from './mirror.ts';
import { hostInterfaceNames } from '../model/pod-interface.ts';
import { planPodInterface } from './pod-interface.ts';
import { isAbandoned, parseSandbox, planSandbox, portOptionsOf } from './sandbox.ts';
import { vouchedFor } from '../testing-pods.ts';
import { aSandbox } from '../testing-sandbox.ts';

interface Case {
  readonly node: RawObject;
  readonly subnets: readonly RawObject[];
  readonly pods?: readonly RawObject[];
  readonly datapath: 'system' | 'netdev';
  /** Whether the node is a gateway between clusters. */
  readonly isGateway?: boolean;
  /** Whether the node has a certificate for the southbound database. */
  readonly hasCertificate?: boolean;
  /** Addresses of the node's interfaces. */
  readonly addresses?: readonly string[];
  readonly otherNodes?: readonly string[];
  readonly hasServices?: boolean;
  readonly routedNetworks?: readonly string[];
  /** Networks on the node's links. */
  readonly connected?: readonly LinkNetwork[];
  readonly bgpNodeState?: RawObject;
  /** Of the slices of that. */
  readonly bgpRoutes?: readonly object[];
  readonly remoteClusters?: readonly RawObject[];
  /** Of the slices of the first of those. */
  readonly remoteRoutes?: readonly object[];
  readonly lifelines?: LifelineFacts;
  readonly withheld?: readonly string[];
}

const folder = join(import.meta.dirname, 'testdata');
const tls = {
  key: '/run/openvswitch/tls/tls.key',
  cert: '/run/openvswitch/tls/tls.crt',
  ca: '/run/openvswitch/tls/ca.crt',
};
const settings = {
  nodeName: 'n1',
  encapType: 'geneve',
  encapIp: '172.30.1.11',
  mtu: 1400,
  mirrorInterface: 'mirror0',
  isMirroringAll: false,
};

function planPod(raw: RawObject, subnets: readonly Subnet[], datapath: Case['datapath']): unknown {
  // A case with a status tests another condition than that the controller wrote all annotations.
  const pod = parsePod(raw['status'] === undefined ? vouchedFor(raw) : raw);
  const interfaces = [...pod.interfaces.values()].flatMap((facts, index): readonly unknown[] => {
    const { network, routes } = facts;
    if (network === undefined || typeof network === 'string') return [{ waits: network ?? 'for the controller' }];
    if ('code' in routes) return [{ refused: routes.message }];
    const { link, sandbox } = planPodInterface({
      request: {
        containerId: '0123456789abcdef',
        ifname: index === 0 ? 'eth0' : `net${index}`,
        network: 'isthmus',
        netns: '/run/netns/x',
        hostInterface: hostInterfaceNames('0123456789abcdef', index === 0 ? 'eth0' : `net${index}`)[0],
      },
      pod,
      facts,
      network,
      routes,
      subnet: subnets.find(({ name }) => name === network.subnet),
      nodeMtu: settings.mtu,
      isUserspaceDatapath: datapath === 'netdev',
    });
    return [{ link }, ...rowsOf(planSandbox(sandbox, portOptionsOf(pod, sandbox)))];
  });
  return {
    pod: pod.name,
    told: pod.addressCondition?.status === 'True' ? undefined : pod.addressCondition,
    problems: pod.problems,
    interfaces,
  };
}

function planAll(input: Case): object {
  const node = parseNode(input.node);
  const subnets = input.subnets.map(parseSubnet).filter((subnet): subnet is Subnet => subnet !== undefined);
  const { mtu, mirrorInterface } = settings;
  const { addresses = [], otherNodes = [], bgpNodeState, remoteClusters = [], lifelines = {} } = input;
  const [remote] = remoteClusters;
  const remoteSlices = remote === undefined ? [] : [sliceOf(remoteClusterView.kind, remote, input.remoteRoutes ?? [])];
  const withheld = new Set(input.withheld);
  const forwarding = {
    isSpeaker: bgpNodeState !== undefined,
    vpcs: new Map([
      ['ts', 'ovn-cluster'],
      ['blue', 'blue'],
    ]),
    remotes: [...joinSliced(remoteClusterView, remoteClusters, remoteSlices).values()],
  };
  const hasServices = input.hasServices ?? false;
  const host = planHostNetwork({
    node,
    subnets,
    mtu,
    mirrorInterface,
    addresses,
    otherNodes,
    forwarding,
    hasServices,
    routedNetworks: new Set(input.routedNetworks),
    connected: input.connected ?? [],
  });
  const learned =
    bgpNodeState === undefined ? undefined : viewOf(bgpNodeStateView, bgpNodeState, input.bgpRoutes ?? []);
  return {
    host: renderHostNetwork(host.network),
    problems: host.problems,
    ovs: Object.fromEntries(
      [
        ...planLocalOvs(
          { ...settings, datapathType: input.datapath },
          { remotes: ['tcp:172.30.1.10:6642'], tls: input.hasCertificate === true ? tls : undefined },
          node,
          input.isGateway === true,
        ),
      ].map(([owner, desired]) => [owner, desired === undefined ? undefined : rowsOf(desired)]),
    ),
    pods: (input.pods ?? []).map((pod) => planPod(pod, subnets, input.datapath)),
    ...(learned === undefined
      ? {}
      : { learned: planLearnedRoutes({ learned, node, subnets, addresses, lifelines, withheld }) }),
  };
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.in.yaml'))) {
  test(`golden ${file}`, (t) => {
    const input = parse(readFileSync(join(folder, file), 'utf8')) as Case;
    const text = renderGolden(planAll(input));
    t.assert.fileSnapshot(text, join(folder, file.replace('.in.', '.out.')), { serializers: [String] });
    assert.ok(text.split('\n').length - 1 <= mostGoldenLines, `more than ${mostGoldenLines} lines`);
    assert.deepEqual(
      planAll({ ...input, subnets: input.subnets.toReversed() }),
      planAll(input),
      'the order of objects must not matter',
    );
  });
}

const sandbox: Sandbox = { ...aSandbox, ips: ['10.16.0.5', 'fd00::5'] };

test('a sandbox is read back from its rows as it was written', () => {
  const attached = {
    ...sandbox,
    ifname: 'net1',
    provider: 'red.default.ovn.net1',
    port: 'vm.default.red.default.ovn.net1',
  };
  for (const each of [sandbox, attached]) {
    const row = planSandbox(each, { netem: {}, isMirrored: false }).rows.find(({ table }) => table === 'Interface');
    const ids = {
      ...(row?.columns['external_ids'] as Record<string, string>),
      'isthmus-owner': 'x',
      'ovn-installed': 'true',
    };
    assert.deepEqual(parseSandbox('abc_h', ids), each);
  }
  assert.equal(parseSandbox('ovn0', { 'iface-id': 'node-n1' }), undefined);
});

test('only a sandbox without namespace and without pod is abandoned', () => {
  const seen = [
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ] as const;
  assert.deepEqual(
    seen.map(([hasNetns, hasPod]) => isAbandoned({ hasNetns, hasPod })),
    [false, false, false, true],
  );
});

test('names of host interfaces: unique, at most 15 characters', () => {
  const hex = 'a1b2c3d4e5f60718293a4b5c6d7e8f90';
  const [first, second = ''] = hostInterfaceNames(hex, 'eth0');
  assert.equal(first, 'a1b2c3d4e5f6_h');
  const others = [
    second,
    ...hostInterfaceNames(`${hex}00`, 'eth0').slice(1),
    ...hostInterfaceNames(hex, 'net1'),
    ...hostInterfaceNames('demo-east-default-web-1', 'eth0'),
    ...hostInterfaceNames('demo-east-default-web-2', 'eth0'),
  ];
  assert.equal(new Set(others).size, 5);
  assert.equal(others.length, 5);
  for (const name of others) assert.match(name, /^[0-9a-f]{12}_h$/);
});

test('the mirror: none without an interface, of everything where that is asked for', () => {
  assert.equal(planMirror({ mirrorInterface: '', isMirroringAll: true }), undefined);
  const rows = planMirror({ mirrorInterface: 'tap1', isMirroringAll: true })?.rows ?? [];
  assert.equal(rows.find(({ table }) => table === 'Mirror')?.columns['select_all'], true);
});
