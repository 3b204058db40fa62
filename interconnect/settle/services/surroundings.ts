/**
 * What of this cluster all imports depend on. In: its Subnets, nodes and ServiceCIDRs. Out: networks that ClusterSet IPs must not be in, which
 * pods do not reach imports, and the zone of the clients. Pure.
 */
import { defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, type Family } from '../../../lib/net/ip.ts';
import { learnedOrigin } from '../../../lib/route-policy/policy.ts';
import type { LocalView } from '../../model/local.ts';
import type { Node, Subnet } from '../../model/objects.ts';
import type { RouteUse } from '../route-use.ts';
import type { Occupied } from './networks.ts';

export interface SurroundingsInput {
  readonly local: Pick<LocalView, 'vpcs' | 'nodeAddresses'>;
  readonly subnets: Iterable<readonly [string, Pick<Subnet, 'vpc' | 'cidrs' | 'hasLoadBalancers'>]>;
  readonly nodes: Iterable<readonly [string, Pick<Node, 'labels'>]>;
  readonly serviceCidrs: Iterable<readonly [string, readonly Cidr[]]>;
  /** Whether OVN's switches have load balancers at all. */
  readonly hasLoadBalancers: boolean;
}

export interface Surroundings {
  readonly occupied: readonly Occupied[];
  /** Of pods in VPCs that take part. */
  readonly families: ReadonlySet<Family>;
  /** Why no pod reaches an import; undefined if pods do. */
  readonly obstacle: Problem | undefined;
  /** Subnets whose pods do not reach imports, although others do. */
  readonly leftOut: readonly string[];
  /** The zone of all nodes; empty if they have several, or none. */
  readonly zone: string;
}

const zoneLabel = 'topology.kubernetes.io/zone';

export function surroundingsOf(input: SurroundingsInput): Surroundings {
  const { local, nodes, hasLoadBalancers } = input;
  const subnets = [...input.subnets];
  const zones = new Set([...nodes].map(([, { labels }]) => labels[zoneLabel] ?? ''));
  const [zone = ''] = zones.size === 1 ? zones : [];
  return {
    occupied: occupiedBy(input, subnets),
    families: new Set([...local.vpcs.values()].flatMap(({ ranges }) => ranges.map(({ cidr }) => cidr.family))),
    ...clientsOf(
      // Nodes alone have addresses of `join`. A Subnet that is not in force has no pods.
      subnets.filter(
        ([name, { vpc, cidrs }]) => name !== joinSubnet && cidrs.length > 0 && local.vpcs.has(vpc || defaultVpc),
      ),
      hasLoadBalancers,
    ),
    zone,
  };
}

function occupiedBy(
  { local, serviceCidrs }: SurroundingsInput,
  subnets: readonly (readonly [string, Pick<Subnet, 'cidrs'>])[],
): readonly Occupied[] {
  return [
    ...subnets.flatMap(([name, { cidrs }]) => cidrs.map((cidr) => ({ name: `Subnet ${name}`, cidr }))),
    ...[...serviceCidrs].flatMap(([name, cidrs]) => cidrs.map((cidr) => ({ name: `ServiceCIDR ${name}`, cidr }))),
    ...local.nodeAddresses.map(({ node, ip: { family, value } }) => ({
      name: `Node ${node}`,
      cidr: { family, network: value, prefix: bitsOf(family) },
    })),
  ];
}

function clientsOf(
  subnets: readonly (readonly [string, Pick<Subnet, 'hasLoadBalancers'>])[],
  hasLoadBalancers: boolean,
): Pick<Surroundings, 'obstacle' | 'leftOut'> {
  if (!hasLoadBalancers) {
    const message =
      'no pod of this cluster reaches it, because OVN has no load balancers (value networking.enableLb): set it to true';
    return { obstacle: { code: 'LoadBalancersDisabled', message }, leftOut: [] };
  }
  const leftOut = subnets.flatMap(([name, one]) => (one.hasLoadBalancers ? [] : [name])).sort();
  if (leftOut.length === 0 || leftOut.length < subnets.length) return { obstacle: undefined, leftOut };
  const message = `no pod of this cluster reaches it, because no Subnet that takes part in the interconnect has load balancers (spec.enableLb): enable them in ${leftOut.join(', ')}`;
  return { obstacle: { code: 'LoadBalancersDisabled', message }, leftOut: [] };
}

/**
 * The first prefix of another cluster that overlaps the networks of ClusterSet IPs. What its routers announce does not count: it may be wide, and is no
 * network of pods.
 */
export function overlapWith(
  cluster: string,
  uses: readonly Pick<RouteUse, 'prefix' | 'origin' | 'rejected'>[],
  clusterSet: readonly Cidr[],
): Problem | undefined {
  for (const { prefix, origin, rejected } of uses) {
    const cidr = parseCidr(prefix);
    if (cidr === undefined || origin === learnedOrigin || rejected !== undefined) continue;
    const held = clusterSet.find((one) => cidrsOverlap(one, cidr));
    if (held === undefined) continue;
    const message = `${formatCidr(held)} of spec.clusterSetCIDR of the Interconnect overlaps ${prefix} of cluster ${cluster}: addresses of imports hide those of its pods; choose a network that no cluster uses`;
    return { code: 'ClusterSetCIDROverlap', message };
  }
  return undefined;
}
