/** Puts this cluster together from its parts; the same parts give the same object, so that plans can be remembered. */
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { matchesSelector } from '../../lib/api/label-selector.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import type { GatewayNode, LocalChassis, LocalPrefix, LocalView, LocalVpc, Wish } from '../state/local.ts';
import type { Node, Subnet, TransitSwitchObject } from './objects.ts';

/** The hub's own transit switch, which every member takes part in. */
export const defaultNetwork = 'ts';

export interface LocalParts {
  readonly spec: InterconnectSpec;
  /** What it is called among the members, and was when it joined. */
  readonly names: Pick<LocalView, 'cluster' | 'handle'>;
  /** Uuid of a logical router; empty where there is none of that name. */
  readonly routerIdOf: (vpc: string) => string;
  readonly subnets: Iterable<readonly [string, Subnet]>;
  readonly nodes: Iterable<readonly [string, Node]>;
  readonly chassis: ReadonlyMap<string, LocalChassis>;
  readonly transitSwitches: Iterable<readonly [string, TransitSwitchObject]>;
  /** Whether a user drains the gateway on this node. */
  readonly isDrained: (node: string) => boolean;
}

export function buildLocal(parts: LocalParts, before: LocalView | undefined): LocalView {
  const { spec, chassis } = parts;
  const nodes = [...parts.nodes].sort(([a], [b]) => (a < b ? -1 : 1));
  const subnets = [...parts.subnets].sort(([a], [b]) => (a < b ? -1 : 1));
  const wishes = wishesOf(parts);
  const names = [...new Set(wishes.map(({ vpc }) => vpc))].sort();
  const vpcs = names.map((name) => vpcOf(name, parts.routerIdOf(name), subnets)).filter(isThere);
  const selected = nodes.filter(([, { labels }]) => matchesSelector(spec.gatewayNodeSelector, labels));
  const hostnames = new Map([...chassis].map(([name, { gateway }]) => [gateway.hostname, name]));
  const gatewayNodes = selected.flatMap(([node, { chassis: noted }]): GatewayNode[] => {
    const name = noted ?? hostnames.get(node);
    return name === undefined ? [] : [{ node, chassis: name, isDrained: parts.isDrained(node) }];
  });
  const local: LocalView = {
    ...parts.names,
    vpcs: new Map(vpcs.map((vpc) => [vpc.router, vpc])),
    wishes,
    nodeAddresses: nodes.flatMap(([node, { addresses }]) => addresses.map((ip) => ({ node, ip }))),
    nodeChassis: nodes.flatMap(([node, { chassis: noted }]) => (noted === undefined ? [] : [{ node, chassis: noted }])),
    gatewayNodes,
    unknownNodes: selected.map(([node]) => node).filter((name) => !gatewayNodes.some(({ node }) => node === name)),
    chassis,
  };
  return before !== undefined && textOf(before) === textOf(local) ? before : local;
}

/** The hub's network for the VPC of the Interconnect, and what users made besides. */
function wishesOf({ spec, transitSwitches }: LocalParts): readonly Wish[] {
  const first: Wish = { name: defaultNetwork, vpc: spec.vpc, cidrs: [], paths: 0, clusters: [], problem: undefined };
  const others = [...transitSwitches].flatMap(([name, { spec: wanted, isDeleting }]): Wish[] => {
    if (name === defaultNetwork || isDeleting) return [];
    if ('code' in wanted) return [{ ...first, name, vpc: '', problem: wanted }];
    const { vpc, cidr, paths, clusters } = wanted;
    const cidrs = cidr.split(',').map((text) => text.trim());
    return [{ name, vpc, cidrs: cidrs.filter((text) => text !== ''), paths, clusters, problem: undefined }];
  });
  return [first, ...others.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

function vpcOf(name: string, routerId: string, all: readonly (readonly [string, Subnet])[]): LocalVpc {
  const subnets = all.filter(([, { vpc }]) => vpc === name);
  const shared = subnets.flatMap(([, { isShared, cidrs }]) => (isShared ? cidrs.map(formatCidr) : []));
  return {
    router: name,
    routerId,
    prefixes: [...new Set(shared)].sort().map((cidr): LocalPrefix => ({ cidr, origin: 'connected', tags: [] })),
    ranges: subnets.flatMap(([subnet, { cidrs }]) => cidrs.map((cidr) => ({ name: `subnet ${subnet}`, cidr }))),
  };
}

/** The default VPC is always there or about to be: its router comes back when the controller has filled a new database. */
function isThere({ router, routerId }: LocalVpc): boolean {
  return routerId !== '' || router === defaultVpc;
}

function textOf(local: LocalView): string {
  return JSON.stringify(local, (_, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    return value instanceof Map ? [...value.entries()] : value;
  });
}
