/**
 * Reads what explains one OvnEip: objects, the ports of the southbound database that belong to it, and BGP. In: a client of the API and the name. Out: an EipReading.
 * What the user may not ask of OVN or BGP is part of the value.
 * @throws CommandFailed if there is no such OvnEip; KubeUnreachable, KubeApiError, or the timeout's TimeoutError
 */
import { annotation, externalSubnet, label, routerSwitchPort } from '../../lib/api/names.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { fieldsOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import {
  nodes,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  qosPolicies,
  routerLbRules,
  vpcNatGateways,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import type { BgpReading } from '../model/bgp.ts';
import { portsOf } from '../model/eip-ports.ts';
import type { Binding, BoundPorts, EipReading, RuleKind, RuleReading } from '../model/eip-reading.ts';
import { readBgp } from './bgp.ts';
import { type ClusterFlags, withCluster } from './cluster.ts';
import { missing } from './missing.ts';
import { localTools, podTools, type OvnTools } from './ovn-tools.ts';
import { findObject } from './workload.ts';

const ruleKinds: readonly (readonly [Resource, RuleKind])[] = [
  [ovnFips, 'OvnFip'],
  [ovnSnatRules, 'OvnSnatRule'],
  [ovnDnatRules, 'OvnDnatRule'],
  [routerLbRules, 'RouterLBRule'],
];

export interface EipQuestion {
  readonly name: string;
  /** Remotes of the southbound database; empty for that of the chart's pods. */
  readonly sb: readonly string[];
}

export function readEip({ name, sb }: EipQuestion, flags: ClusterFlags, terminal: Terminal): Promise<EipReading> {
  return withCluster(flags, terminal, async ({ client, exec, namespace }) => {
    const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
    const raw = await findObject(client, ovnEips, { name }, signal);
    if (raw === undefined) throw missing('ovn-eip', { name });
    const [rules, machines, bgp] = await Promise.all([
      readRules(client, name, signal),
      client.list(nodes, { signal }),
      readBgpOr(flags, terminal),
    ]);
    const eip = { ...parseEip(raw), rules };
    const tools =
      sb.length > 0 ? localTools(sb, terminal.env, signal) : await podTools({ client, exec, namespace, signal });
    const limits = await readLimits(client, eip, signal);
    const ovn = 'run' in tools ? await readBindings(tools, portsOf(eip)) : tools;
    return { ...eip, limits, nodes: chassisNames(machines), ovn, bgp };
  });
}

function conditionsOf(raw: RawObject): readonly Condition[] {
  const { conditions = [] } = (raw['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions;
}

function partsOf(raw: RawObject) {
  const isDeleting = raw.metadata.deletionTimestamp !== undefined;
  return { spec: fieldsOf(raw['spec']), status: fieldsOf(raw['status']), isDeleting, conditions: conditionsOf(raw) };
}

export function parseEip(raw: RawObject): Omit<EipReading, 'rules' | 'limits' | 'nodes' | 'ovn' | 'bgp'> {
  const { spec, status, isDeleting, conditions } = partsOf(raw);
  const either = (field: string): string => textOf(status[field]) || textOf(spec[field]);
  const { name } = raw.metadata;
  const type = textOf(spec['type']) || 'nat';
  const subnet = textOf(spec['externalSubnet']) || externalSubnet;
  // One that a user made has no label, and the name of the router's port all the same.
  const end = routerSwitchPort('', subnet);
  const named = type === 'lrp' && name.endsWith(end) ? name.slice(0, -end.length) : '';
  return {
    name,
    type,
    subnet,
    addresses: [either('v4Ip'), either('v6Ip')].filter((one) => one !== ''),
    mac: either('macAddress'),
    isReady: status['ready'] === true,
    isDeleting,
    conditions,
    routerOf: raw.metadata.labels?.[label.gatewayOf] ?? named,
  };
}

export function parseRule(kind: RuleKind, raw: RawObject): RuleReading {
  if (kind === 'RouterLBRule') return parseRouterRule(raw);
  const { spec, status, isDeleting, conditions } = partsOf(raw);
  const suffix = kind === 'OvnSnatRule' ? 'IpCidr' : 'Ip';
  const port = textOf(spec['externalPort']);
  return {
    kind,
    name: raw.metadata.name,
    vpc: textOf(status['vpc']) || textOf(spec['vpc']),
    isReady: status['ready'] === true,
    isDeleting,
    // Its MAC address is in the status only if the pod's node translates.
    isDistributed: kind === 'OvnFip' && textOf(status['macAddress']) !== '',
    ipName: textOf(spec['ipName']),
    inside: [textOf(status[`v4${suffix}`]), textOf(status[`v6${suffix}`])].filter((one) => one !== ''),
    externalPort: port === '' ? '' : `${port}/${textOf(spec['protocol']).toLowerCase()}`,
    internalPort: textOf(spec['internalPort']),
    conditions,
  };
}

/** Its status has no field `ready`, and its backends are a list. */
function parseRouterRule(raw: RawObject): RuleReading {
  const { spec, status, isDeleting, conditions } = partsOf(raw);
  return {
    kind: 'RouterLBRule',
    name: raw.metadata.name,
    vpc: textOf(spec['vpc']),
    isReady: conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    isDeleting,
    isDistributed: false,
    ipName: '',
    inside: [...new Set(recordsOf(status['backends']).map(({ address }) => textOf(address)))],
    externalPort: textOf(status['ports']).toLowerCase(),
    internalPort: '',
    conditions,
  };
}

async function listOrNone(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  signal: AbortSignal,
): Promise<readonly RawObject[]> {
  try {
    return await client.list(resource, { signal });
  } catch (error) {
    // The kind is of a newer release.
    if (error instanceof KubeApiError && error.status === 404) return [];
    throw error;
  }
}

async function readLimits(
  client: Pick<KubeClient, 'list'>,
  eip: Pick<EipReading, 'subnet' | 'routerOf' | 'rules'>,
  signal: AbortSignal,
): Promise<readonly string[] | Problem> {
  try {
    const [gateways, policies] = await Promise.all([
      listOrNone(client, vpcNatGateways, signal),
      listOrNone(client, qosPolicies, signal),
    ]);
    return limitsOf(eip, gateways, policies);
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.status !== 403) throw error;
    return { code: 'Forbidden', message: `limits of the bandwidth were not read: ${error.message}` };
  }
}

/** The limits in force of the ports that packets of the address pass. */
export function limitsOf(
  { subnet, routerOf, rules }: Pick<EipReading, 'subnet' | 'routerOf' | 'rules'>,
  gateways: readonly RawObject[],
  policies: readonly RawObject[],
): readonly string[] {
  const vpcs = new Set([routerOf, ...rules.map(({ vpc }) => vpc)]);
  return gateways.flatMap((gateway) => {
    const { spec, status } = partsOf(gateway);
    const name = textOf(status['qosPolicy']);
    const isOnTheWay = vpcs.has(textOf(spec['vpc'])) && textsOf(status['externalSubnets']).includes(subnet);
    const policy = policies.find(({ metadata }) => metadata.name === name);
    if (name === '' || !isOnTheWay || policy === undefined) return [];
    return recordsOf(fieldsOf(policy['status'])['bandwidthLimitRules']).map((rule) => {
      const packets = textOf(rule['matchValue']);
      const what = [textOf(rule['direction']), packets].filter((text) => text !== '').join(' ');
      return `${what}: ${textOf(rule['rateMax'])} Mbit/s by QoSPolicy ${name} of VpcNatGateway ${gateway.metadata.name}`;
    });
  });
}

async function readRules(
  client: Pick<KubeClient, 'list'>,
  eip: string,
  signal: AbortSignal,
): Promise<readonly RuleReading[]> {
  const each = ruleKinds.map(async ([resource, kind]) => {
    const all = await listOrNone(client, resource, signal);
    return all.filter((raw) => fieldsOf(raw['spec'])['ovnEip'] === eip).map((raw) => parseRule(kind, raw));
  });
  const byName = (a: RuleReading, b: RuleReading): number => (a.name < b.name ? -1 : 1);
  return (await Promise.all(each)).flatMap((rules) => rules.sort(byName));
}

function chassisNames(machines: readonly RawObject[]): ReadonlyMap<string, string> {
  return new Map(
    machines.flatMap(({ metadata }) => {
      const chassis = metadata.annotations?.[annotation.chassis];
      return chassis === undefined ? [] : [[chassis, metadata.name] as const];
    }),
  );
}

async function readBgpOr(flags: ClusterFlags, terminal: Terminal): Promise<BgpReading | Problem> {
  try {
    return await readBgp(flags, terminal);
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.status !== 403) throw error;
    return { code: 'Forbidden', message: `BGP was not read: ${error.message}` };
  }
}

const portName = /^[A-Za-z0-9._-]+$/;

/** The ports of the names, and the chassis that have them. */
export async function readBindings(tools: OvnTools, names: readonly string[]): Promise<BoundPorts | Problem> {
  const ports = [...new Set(names)];
  const wrong = ports.find((one) => !portName.test(one));
  if (wrong !== undefined)
    return { code: 'OvnNotAsked', message: `${JSON.stringify(wrong)} is not the name of a port` };
  const finds = ports.flatMap((port) => [
    '--',
    '--columns=logical_port,chassis,nat_addresses',
    'find',
    'Port_Binding',
    `logical_port="${port}"`,
  ]);
  const words = ['--format=json', '--columns=_uuid,name', 'list', 'Chassis', ...finds];
  const answer = await tools.run('ovn-sbctl', words);
  return 'problem' in answer ? answer.problem : { where: tools.where, bindings: parseBindings(answer.text) };
}

/** One JSON table for each command: first that of the chassis, then those of the ports. */
export function parseBindings(text: string): ReadonlyMap<string, Binding> {
  const [first = [], ...others] = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => (JSON.parse(line) as { readonly data: readonly (readonly unknown[])[] }).data);
  const chassis = new Map(first.map(([uuid, name]) => [atomsOf(uuid)[0] ?? '', String(name)]));
  return new Map(
    others.flat().map(([port, holder, announced]) => {
      const binding = { port: String(port), chassis: chassis.get(atomsOf(holder)[0] ?? '') ?? '' };
      return [binding.port, { ...binding, announced: atomsOf(announced) }];
    }),
  );
}

/** Of OVSDB: a value, a uuid, or the members of a set. */
function atomsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  const [kind, content] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (kind === 'uuid') return [String(content)];
  return kind === 'set' && Array.isArray(content) ? content.flatMap(atomsOf) : [];
}
