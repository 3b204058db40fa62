import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Desired } from '../../lib/desired/row.ts';
import {
  kindsOf,
  mostGoldenLines,
  patternOf,
  readCase,
  renderGolden,
  rowsOf,
  shownOf,
  statusLines,
} from '../../lib/testing-golden.ts';
import { monitor } from '../apply/northbound.ts';
import type { Capabilities } from '../model/view.ts';
import { TestCluster } from '../testing-cluster.ts';
import { acceptedNoteOf } from '../settle/subnet/former-gateways.ts';
import { parseIp, parseIpPool, parseVip } from '../watch/addresses.ts';
import { joinSliced } from '../../lib/slices/slice.ts';
import { bgpNodeStateView } from '../watch/bgp.ts';
import { remoteClusterView, parseSecurityGroup, parseSubnet, parseTransitSwitch, parseVpc } from '../watch/networks.ts';
import { parseProviderNetwork, parseVlan } from '../watch/underlay.ts';
import {
  parseAttachment,
  parseNamespace,
  parseNode,
  parsePod,
  parseStatefulSet,
  parseVirtualMachine,
} from '../watch/workloads.ts';
import { planIps } from './address/ip-object.ts';
import { planIpPoolConditions, planIpPoolUsage } from './address/ip-pool.ts';
import { planVipConditions, planVipStatus } from './vip/status.ts';
import { learnedProblems } from './bgp/problems.ts';
import { planSubnetConditions } from './conditions.ts';
import { planNamespaceAnnotations } from './namespace/namespace.ts';
import { planNodeAnnotations } from './node/node-annotations.ts';
import { nodeProblems } from './node/problems.ts';
import { ownEntries } from './own-keys.ts';
import { planKey } from './plan.ts';
import { planPodAnnotations } from './pod/pod-annotations.ts';
import { portProblems } from './pod/port-problems.ts';
import { planSecurityGroupConditions, planSecurityGroupStatus } from './security-group/security-group.ts';
import { specCorrections } from './subnet/corrections.ts';
import { planSubnetStatus } from './subnet/subnet-status.ts';
import { planProviderNetworkConditions, planProviderNetworkStatus } from './underlay/provider-network.ts';
import { planVlanConditions, planVlanStatus } from './underlay/vlan.ts';
import { planVpcConditions, planVpcStatus } from './vpc/status.ts';

const folder = join(import.meta.dirname, 'testdata');

/** IP objects as they would be created. */
function ipsOf(cluster: TestCluster, key: string): unknown {
  return planIps(cluster, key).map(({ object, labels, spec, initialSpec }) => ({
    name: object.name,
    labels,
    spec: { ...spec, ...initialSpec },
  }));
}

function load(cluster: TestCluster, raw: RawObject, all: readonly RawObject[]): void {
  const { name, namespace = '' } = raw.metadata;
  if (raw.kind === 'Vpc') cluster.change('vpcs', name, parseVpc(raw));
  else if (raw.kind === 'Subnet') cluster.change('subnets', name, parseSubnet(raw));
  else if (raw.kind === 'Node') cluster.change('nodes', name, parseNode(raw));
  else if (raw.kind === 'Namespace') cluster.change('namespaces', name, parseNamespace(raw));
  else if (raw.kind === 'Pod') cluster.change('pods', `${namespace}/${name}`, parsePod(raw));
  else if (raw.kind === 'IP') cluster.change('ips', name, parseIp(raw));
  else if (raw.kind === 'IPPool') cluster.change('ipPools', name, parseIpPool(raw));
  else if (raw.kind === 'Vip') cluster.change('vips', name, parseVip(raw));
  else if (raw.kind === 'SecurityGroup') cluster.change('securityGroups', name, parseSecurityGroup(raw));
  else if (raw.kind === 'StatefulSet') cluster.change('statefulSets', `${namespace}/${name}`, parseStatefulSet(raw));
  else if (raw.kind === 'VirtualMachineInstance')
    cluster.change('virtualMachineInstances', `${namespace}/${name}`, parseVirtualMachine(raw));
  else if (raw.kind === 'NetworkAttachmentDefinition')
    cluster.change('attachments', `${namespace}/${name}`, parseAttachment(raw));
  else if (raw.kind === 'TransitSwitch') cluster.change('transitSwitches', name, parseTransitSwitch(raw));
  else if (raw.kind === 'RemoteCluster')
    cluster.change('remoteClusters', name, joinSliced(remoteClusterView, [raw], all).get(name));
  else if (raw.kind === 'BgpNodeState')
    cluster.change('bgpNodeStates', name, joinSliced(bgpNodeStateView, [raw], all).get(name));
  else if (raw.kind === 'Vlan') cluster.change('vlans', name, parseVlan(raw));
  else if (raw.kind === 'ProviderNetwork') cluster.change('providerNetworks', name, parseProviderNetwork(raw));
  else if (raw.kind !== 'RemoteRouteSlice' && raw.kind !== 'BgpRouteSlice')
    throw new Error(`a case has no use for ${raw.kind}`);
}

/** What Kubernetes is told about one key. */
function toldOf(cluster: TestCluster, key: string): unknown {
  const [feature = '', name = '', rest = ''] = key.split('/', 3);
  if (feature === 'pod') {
    const problem = cluster.addressProblem(key);
    const annotations = planPodAnnotations(cluster, `${name}/${rest}`);
    const own = portProblems(cluster, `${name}/${rest}`);
    const problems = own.length === 0 ? {} : { problems: own };
    return problem === undefined ? { annotations, ...problems, ips: ipsOf(cluster, key) } : { problem, ...problems };
  }
  if (feature === 'node') {
    const problems = nodeProblems(cluster, name);
    const told = { annotations: planNodeAnnotations(cluster, name), ips: ipsOf(cluster, key) };
    return problems.length === 0 ? told : { ...told, problems };
  }
  const namespace = cluster.namespaces.get(name);
  if (feature === 'namespace' && namespace !== undefined) return planNamespaceAnnotations(cluster, namespace);
  const vpc = cluster.vpcs.get(name);
  if (feature === 'vpc' && vpc !== undefined)
    return { ...planVpcStatus(cluster, vpc), conditions: planVpcConditions(cluster, vpc, undefined) };
  if (feature === 'ip-pool')
    return { ...planIpPoolUsage(cluster, name), conditions: planIpPoolConditions(cluster, name, undefined) };
  if (feature === 'security-group')
    return {
      ...planSecurityGroupStatus(cluster, name, undefined),
      conditions: planSecurityGroupConditions(cluster, name, undefined),
    };
  if (feature === 'vip')
    return { ...planVipStatus(cluster, name), conditions: planVipConditions(cluster, name, undefined) };
  if (feature === 'bgp-node') {
    const problems = learnedProblems(cluster, name);
    return problems.length === 0 ? undefined : { problems };
  }
  const vlan = cluster.vlans.get(name);
  if (feature === 'vlan' && vlan !== undefined)
    return { ...planVlanStatus(cluster, name), conditions: planVlanConditions(cluster, vlan) };
  const network = cluster.providerNetworks.get(name);
  if (feature === 'provider-network' && network !== undefined)
    return {
      ...planProviderNetworkStatus(cluster, network),
      conditions: planProviderNetworkConditions(cluster, network),
    };
  if (feature === 'u2o' && cluster.ports(key).length > 0) return { ips: ipsOf(cluster, key) };
  if (feature === 'mcast' && cluster.ports(key).length > 0) return { ips: ipsOf(cluster, key) };
  if (feature !== 'subnet') return undefined;
  const corrections = specCorrections(cluster, name);
  const { spec, isOpen } = cluster.verdicts.get(name) ?? {};
  return {
    spec,
    isOpen,
    accepted: acceptedNoteOf(cluster, name),
    ...(corrections.length === 0 ? {} : { corrections }),
    conditions: planSubnetConditions(cluster, name, undefined),
    ...planSubnetStatus(cluster, name),
  };
}

/** What is written must be seen, too. */
function checkMonitored(desired: Desired): void {
  for (const { table, columns, initial, parent } of desired.rows) {
    const seen = monitor[table] ?? [];
    for (const column of Object.keys({ ...columns, ...initial }))
      assert.ok(seen.includes(column), `${table}.${column}`);
    if (parent !== undefined) assert.ok(monitor[parent.table]?.includes(parent.column), parent.column);
  }
  for (const { table, columns } of desired.rows)
    for (const [column, value] of Object.entries(columns)) {
      const isOwn = ownEntries(table, column);
      if (isOwn === undefined || value === null || typeof value !== 'object') continue;
      for (const [entry, atom] of Object.entries(value))
        assert.ok(isOwn(entry, atom as string), `${entry} in ${table}.${column} would never be taken out`);
    }
  for (const { table, column } of desired.contributions ?? [])
    assert.ok(monitor[table]?.includes(column), `${table}.${column}`);
}

type Planned = Readonly<Record<'rows' | 'told', Readonly<Record<string, unknown>>>>;

function planAll(all: readonly RawObject[]): Planned {
  const able = all.find(({ kind }) => kind === 'Capabilities');
  const objects = all.filter((object) => object !== able);
  const cluster = new TestCluster(able === undefined ? undefined : (able['spec'] as Capabilities));
  for (const object of objects) load(cluster, object, objects);
  cluster.restore(new Map());
  const keys = [...cluster.settle()].sort();
  const rows = keys
    .map((key) => [key, planKey(cluster, key)] as const)
    .filter(([, desired]) => desired.rows.length > 0 || (desired.contributions?.length ?? 0) > 0);
  for (const [, desired] of rows) checkMonitored(desired);
  const told = keys.map((key) => [key, toldOf(cluster, key)] as const).filter(([, value]) => value !== undefined);
  return {
    rows: Object.fromEntries(rows.map(([key, desired]) => [key, rowsOf(desired)])),
    told: Object.fromEntries(told.map(([key, status]) => [key, statusLines(status)])),
  };
}

const cases = globSync('*.in.yaml', { cwd: folder })
  .sort()
  .map((path) => readCase(basename(path, '.in.yaml'), readFileSync(join(folder, path), 'utf8')));

describe('plans', () => {
  /** Kinds of rows and fields of statuses, by feature: in any case, and in any golden. */
  const [planned, seen] = [new Set<string>(), new Set<string>()];

  for (const { name, objects, goldens } of cases)
    test(name, (context) => {
      const whole = planAll(objects);
      for (const kind of kindsOf(whole)) planned.add(kind);
      for (const golden of goldens) {
        const shown = { rows: shownOf(whole.rows, golden.keys), told: shownOf(whole.told, golden.keys) };
        for (const kind of kindsOf(shown)) seen.add(kind);
        const text = renderGolden(shown);
        context.assert.fileSnapshot(text, join(folder, `${golden.name}.out.yaml`), { serializers: [String] });
        assert.ok(
          text.split('\n').length - 1 <= mostGoldenLines,
          `${golden.name} has more than ${mostGoldenLines} lines`,
        );
        const names = Object.keys({ ...whole.rows, ...whole.told });
        for (const key of golden.keys)
          assert.ok(
            names.some((one) => patternOf(key).test(one)),
            `${golden.name} names ${key}, which is not planned`,
          );
      }
      const text = JSON.stringify(whole, undefined, 1);
      for (let turn = 1; turn < objects.length; turn += 1) {
        const turned = planAll([...objects.slice(turn), ...objects.slice(0, turn)]);
        assert.equal(JSON.stringify(turned, undefined, 1), text, 'the plan depends on the order of events');
      }
      assert.equal(
        JSON.stringify(planAll(objects.toReversed()), undefined, 1),
        text,
        'the plan depends on the order of events',
      );
    });

  test('are in the goldens with each kind of row and status, and no golden is left over', () => {
    assert.deepEqual([...planned].filter((kind) => !seen.has(kind)).sort(), []);
    const names = cases.flatMap(({ goldens }) => goldens.map(({ name }) => `${name}.out.yaml`));
    assert.deepEqual(globSync('*.out.yaml', { cwd: folder }).sort(), names.sort());
  });
});
