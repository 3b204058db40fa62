/**
 * Checks whether a Subnet's network overlaps the networks between clusters, or prefixes of another cluster that this one
 * reaches. Checked only before a network comes into force: the interconnect refuses prefixes that another cluster adds later.
 */
import { defaultSubnet, defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrCovers, cidrsOverlap, formatCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { PrefixIndex } from '../../../lib/net/prefix-index.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { KeySlice, RemoteCluster, RemoteRoute, Subnet, TransitSwitch } from '../../model/objects.ts';
import { cidrText } from './accepted-note.ts';

/** Reason of a refusal that ends once the other cluster withdraws the prefix. */
export const interconnectOverlap = 'InterconnectOverlap';

export interface Remotes {
  readonly remoteClusters: ReadonlyMap<string, RemoteCluster>;
  readonly transitSwitches: ReadonlyMap<string, TransitSwitch>;
  readonly keySlices: ReadonlyMap<string, KeySlice>;
}

function cidrsOf(net: SubnetNet | undefined): readonly Cidr[] {
  return [net?.v4?.cidr, net?.v6?.cidr].filter((cidr) => cidr !== undefined);
}

/** No pod runs without these two, which is worse than an unreachable cluster. */
const basics: ReadonlySet<string> = new Set([defaultSubnet, joinSubnet]);

/**
 * A Subnet that was never judged may be older than the RemoteCluster: after a migration from Kube-OVN, or at a first start.
 * A Subnet that was refused counts as newer, even if the other cluster has returned under another name.
 */
function wasThereFirst({ name, createdMs, conditions }: Subnet, cluster: RemoteCluster): boolean {
  const wasRefused = conditions.some(({ status, reason }) => status === 'False' && reason === interconnectOverlap);
  return basics.has(name) || (createdMs < cluster.createdMs && !wasRefused);
}

/** The overlap with a network between clusters itself. */
export function transitOverlapOf(
  subnet: Subnet,
  net: SubnetNet,
  { transitSwitches }: Pick<Remotes, 'transitSwitches'>,
): Problem | undefined {
  const vpc = vpcNameOf(subnet.spec);
  for (const transit of transitSwitches.values()) {
    // The default VPC must not overlap any of them: each may join it later.
    if (vpc !== defaultVpc && transit.vpc !== vpc) continue;
    const cidr = transit.cidrs.find((one) => cidrsOf(net).some((part) => cidrsOverlap(part, one)));
    if (cidr === undefined) continue;
    return {
      code: 'CIDROverlap',
      message: `spec.cidrBlock ${cidrText(net)} overlaps ${formatCidr(cidr)}, the network between clusters (transit switch ${transit.name}): choose a free CIDR`,
    };
  }
  return undefined;
}

/** The overlap with the addresses within encrypted tunnels: nodes drop packets of pods that have one. */
export function tunnelOverlapOf(
  subnet: Subnet,
  net: SubnetNet,
  { transitSwitches, keySlices }: Pick<Remotes, 'transitSwitches' | 'keySlices'>,
): Problem | undefined {
  const vpc = vpcNameOf(subnet.spec);
  const isJoined = vpc === defaultVpc || transitSwitches.values().some((transit) => transit.vpc === vpc);
  if (!isJoined) return undefined;
  for (const { cidr } of keySlices.values()) {
    if (cidr === undefined || !cidrsOf(net).some((part) => cidrsOverlap(part, cidr))) continue;
    return {
      code: 'CIDROverlap',
      message: `spec.cidrBlock ${cidrText(net)} overlaps ${formatCidr(cidr)}, the network of addresses within encrypted tunnels between clusters: choose a free CIDR, or set another network with hub.tunnelCIDR in the cluster of the hub`,
    };
  }
  return undefined;
}

interface Ranked {
  readonly cidr: Cidr;
  readonly rank: number;
}

/** Prefixes of another cluster with their places in its list; computed once for each value of the object. */
const indexes = new WeakMap<RemoteCluster, PrefixIndex<Ranked>>();

function indexOf(cluster: RemoteCluster): PrefixIndex<Ranked> {
  const known = indexes.get(cluster);
  if (known !== undefined) return known;
  const made = new PrefixIndex<Ranked>();
  // Learned prefixes are not addresses of the other cluster: a subnet here takes precedence by its longer or equal mask.
  for (const [rank, { cidr, isLearned }] of cluster.routes.entries()) if (!isLearned) made.add({ cidr, rank });
  indexes.set(cluster, made);
  return made;
}

/** The first of the cluster's routes that has addresses of one of the networks, so that the message is the same after a restart. */
function firstOverlapping(
  cluster: RemoteCluster,
  networks: readonly Cidr[],
  isReached: (route: RemoteRoute) => boolean,
): RemoteRoute | undefined {
  const index = indexOf(cluster);
  const ranks = networks.flatMap((network) => [...index.allOverlapping(network)].map(({ rank }) => rank));
  for (const rank of ranks.sort((a, b) => a - b)) {
    const route = cluster.routes[rank];
    if (route !== undefined && isReached(route)) return route;
  }
  return undefined;
}

/** `inForce` is the Subnet's network in force. */
export function remoteOverlapOf(
  subnet: Subnet,
  net: SubnetNet,
  inForce: SubnetNet | undefined,
  { remoteClusters, transitSwitches }: Pick<Remotes, 'remoteClusters' | 'transitSwitches'>,
): Problem | undefined {
  const vpc = vpcNameOf(subnet.spec);
  const held = cidrsOf(inForce);
  const taken = cidrsOf(net).filter((cidr) => !held.some((own) => cidrCovers(own, cidr)));
  const isReached = ({ transitSwitch }: Pick<RemoteRoute, 'transitSwitch'>): boolean =>
    transitSwitches.get(transitSwitch)?.vpc === vpc;
  // By name, so that the message is the same after a restart.
  for (const name of [...remoteClusters.keys()].sort()) {
    const cluster = remoteClusters.get(name);
    if (cluster === undefined) continue;
    if (inForce === undefined && wasThereFirst(subnet, cluster)) continue;
    const asked = `spec.cidrBlock ${taken.map(formatCidr).join(',')}`;
    const route = firstOverlapping(cluster, taken, isReached);
    if (route !== undefined) {
      const message = `${asked} overlaps ${formatCidr(route.cidr)} of cluster ${cluster.name}, which is reached over transit switch ${route.transitSwitch}: choose a free CIDR, or let ${cluster.name} withdraw its prefix; this Subnet comes into force once it has`;
      return { code: interconnectOverlap, message };
    }
    // An unlisted prefix may be anywhere in the networks that contain it.
    const within = cluster.unlisted.find(
      (network) => isReached(network) && taken.some((one) => cidrsOverlap(one, network.cidr)),
    );
    if (within === undefined) continue;
    const message = `${asked} may overlap a prefix of cluster ${cluster.name}, which offers more prefixes than RemoteCluster ${cluster.name} can list; the unlisted prefixes are in ${formatCidr(within.cidr)}: choose a CIDR outside of it, or let ${cluster.name} offer fewer prefixes, by aggregates or larger subnets; this Subnet comes into force once all prefixes are listed`;
    return { code: interconnectOverlap, message };
  }
  return undefined;
}
