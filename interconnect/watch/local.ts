/** Puts this cluster together from its parts; the same parts give the same object, so that plans can be remembered. */
import { isDeepStrictEqual } from 'node:util';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { matchesSelector } from '../../lib/api/label-selector.ts';
import { defaultVpc, hubSwitch } from '../../lib/api/names.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import { switchNames } from '../model/path-names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type {
  GatewayNode,
  LocalChassis,
  LocalPrefix,
  LocalRange,
  LocalView,
  LocalVpc,
  TransitRequest,
} from '../model/local.ts';
import type { Node, Subnet, TransitSwitchObject } from '../model/objects.ts';

export interface LocalParts {
  readonly spec: InterconnectSpec;
  /** Its present name among the members, and the one it joined with. */
  readonly names: Pick<LocalView, 'cluster' | 'handle'>;
  /** Uuid of a logical router; empty if there is none of that name. */
  readonly routerIdOf: (vpc: string) => string;
  /** The logical router that has this cluster's port on a transit switch; empty if none has. */
  readonly joinedRouter: (network: string) => string;
  /** Of a logical router. */
  readonly linksOf: (vpc: string) => readonly LocalRange[];
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
  const transitRequests = requestsOf(parts, subnets);
  const names = [...new Set(transitRequests.map(({ vpc }) => vpc))].sort();
  const vpcs = names.map((name) => vpcOf(name, parts, subnets)).filter(isThere);
  const selected = nodes.filter(([, { labels }]) => matchesSelector(spec.gatewayNodeSelector, labels));
  const hostnames = new Map([...chassis].map(([name, { gateway }]) => [gateway.hostname, name]));
  const gatewayNodes = selected.flatMap(([node, { chassis: noted }]): GatewayNode[] => {
    const name = noted ?? hostnames.get(node);
    return name === undefined ? [] : [{ node, chassis: name, isDrained: parts.isDrained(node) }];
  });
  const local: LocalView = {
    ...parts.names,
    vpcs: new Map(vpcs.map((vpc) => [vpc.router, vpc])),
    transitRequests,
    nodeAddresses: nodes.flatMap(([node, { addresses }]) => addresses.map((ip) => ({ node, ip }))),
    nodeChassis: nodes.flatMap(([node, { chassis: noted }]) => (noted === undefined ? [] : [{ node, chassis: noted }])),
    gatewayNodes,
    unknownNodes: selected.map(([node]) => node).filter((name) => !gatewayNodes.some(({ node }) => node === name)),
    chassis,
  };
  return before !== undefined && isDeepStrictEqual(before, local) ? before : local;
}

/** The hub's network for the VPC of the Interconnect, and the transit switches of users. */
function requestsOf(parts: LocalParts, subnets: readonly (readonly [string, Subnet])[]): readonly TransitRequest[] {
  const { spec, transitSwitches } = parts;
  const inForce = new Set(subnets.flatMap(([name, { cidrs }]) => (cidrs.length > 0 ? [name] : [])));
  const named = (name: string, paths: number, vpc: string): Omit<TransitRequest, 'cidrs' | 'clusters'> => {
    const joined = parts.joinedRouter(name);
    // Ports that exist show that no subnet had the name before.
    const problem = joined === '' ? nameProblem(name, inForce) : undefined;
    const part = partOf(parts, joined, vpc);
    return { name, paths, problem, ...part, isJoined: joined !== '' && joined === part.vpc };
  };
  const first: TransitRequest = { ...named(hubSwitch, 0, spec.vpc), cidrs: [], clusters: [] };
  const others = [...transitSwitches].flatMap(([name, { spec: wanted, isDeleting }]): TransitRequest[] => {
    if (name === hubSwitch || isDeleting) return [];
    if ('code' in wanted) return [{ ...first, name, vpc: '', isJoined: false, vpcProblem: undefined, problem: wanted }];
    const { vpc, cidr, paths, clusters } = wanted;
    const cidrs = cidr.split(',').map((text) => text.trim());
    return [{ ...named(name, paths, vpc), cidrs: cidrs.filter((text) => text !== ''), clusters }];
  });
  return [first, ...others.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

/** Only one of a subnet and a path, which may be added one day, can have a logical switch of this name. */
function nameProblem(network: string, subnets: ReadonlySet<string>): Problem | undefined {
  const taken = switchNames(network).find((name) => subnets.has(name));
  if (taken === undefined) return undefined;
  const message = `${taken} is the name of a Subnet of this cluster, and a path of transit switch ${network} would have a logical switch of the same name: choose another name for one of the two`;
  return { code: 'NameConflict', message };
}

/** A name without a VPC, such as a misspelt one, takes nothing away from the VPC that takes part. */
function partOf(
  { routerIdOf }: LocalParts,
  joined: string,
  wanted: string,
): Pick<TransitRequest, 'vpc' | 'vpcProblem'> {
  if (routerIdOf(wanted) !== '' || wanted === defaultVpc) return { vpc: wanted, vpcProblem: undefined };
  const until = joined === '' ? '' : `; until then VPC ${joined} stays joined`;
  const message = `VPC ${wanted} does not exist in this cluster; create it, or name another in spec.vpc${until}`;
  return { vpc: joined === '' ? wanted : joined, vpcProblem: { code: 'VpcNotFound', message } };
}

function vpcOf(
  name: string,
  { routerIdOf, linksOf }: LocalParts,
  all: readonly (readonly [string, Subnet])[],
): LocalVpc {
  const subnets = all.filter(([, { vpc }]) => vpc === name);
  const shared = subnets.flatMap(([, { isShared, cidrs }]) => (isShared ? cidrs.map(formatCidr) : []));
  return {
    router: name,
    routerId: routerIdOf(name),
    prefixes: [...new Set(shared)].sort().map((cidr): LocalPrefix => ({ cidr, origin: 'connected', tags: [] })),
    ranges: subnets.flatMap(([subnet, { cidrs }]) => cidrs.map((cidr) => ({ name: `subnet ${subnet}`, cidr }))),
    links: linksOf(name),
  };
}

/** The default VPC is always there or about to be: its router comes back when the controller has filled a new database. */
function isThere({ router, routerId }: LocalVpc): boolean {
  return routerId !== '' || router === defaultVpc;
}
