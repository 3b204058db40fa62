/**
 * Whether a Subnet's network would take addresses of the networks between clusters, or from another cluster that this one
 * reaches. Asked before a network comes into force, never of one that is: what another cluster does later is the
 * interconnect's to refuse.
 */
import { defaultSubnet, defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrCovers, cidrsOverlap, formatCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { RemoteCluster, RemoteRoute, Subnet, TransitSwitch } from '../../model/objects.ts';
import { cidrText } from './accepted-note.ts';

/** Reason of a refusal that ends by itself once the other cluster takes the prefix back. */
export const interconnectOverlap = 'InterconnectOverlap';

export interface Remotes {
  readonly remoteClusters: ReadonlyMap<string, RemoteCluster>;
  readonly transitSwitches: ReadonlyMap<string, TransitSwitch>;
}

function cidrsOf(net: SubnetNet | undefined): readonly Cidr[] {
  return [net?.v4?.cidr, net?.v6?.cidr].filter((cidr) => cidr !== undefined);
}

/** Without these two no pod runs here, which is worse than a cluster that is not reached. */
const basics: ReadonlySet<string> = new Set([defaultSubnet, joinSubnet]);

/**
 * A Subnet that was never judged may be older than what is known of the others: after a take-over, or a first start. One
 * that was refused is not, though the other cluster has come back under another name.
 */
function wasThereFirst({ name, createdMs, conditions }: Subnet, cluster: RemoteCluster): boolean {
  const wasRefused = conditions.some(({ status, reason }) => status === 'False' && reason === interconnectOverlap);
  return basics.has(name) || (createdMs < cluster.createdMs && !wasRefused);
}

/** With the network between clusters itself. */
export function transitOverlapOf(
  subnet: Subnet,
  net: SubnetNet,
  { transitSwitches }: Pick<Remotes, 'transitSwitches'>,
): Problem | undefined {
  const vpc = vpcNameOf(subnet.spec);
  for (const transit of transitSwitches.values()) {
    // The default VPC keeps clear of all: any of them may come to join it.
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

/** `inForce` is what the Subnet has already. */
export function remoteOverlapOf(
  subnet: Subnet,
  net: SubnetNet,
  inForce: SubnetNet | undefined,
  { remoteClusters, transitSwitches }: Remotes,
): Problem | undefined {
  const vpc = vpcNameOf(subnet.spec);
  const held = cidrsOf(inForce);
  const taken = cidrsOf(net).filter((cidr) => !held.some((own) => cidrCovers(own, cidr)));
  // What a cluster has from its routers is no addresses of its own: a subnet here has them by its longer, or equal, mask.
  const clashes = ({ cidr, transitSwitch, isLearned }: RemoteRoute): boolean =>
    !isLearned && taken.some((one) => cidrsOverlap(one, cidr)) && transitSwitches.get(transitSwitch)?.vpc === vpc;
  // By name, so that the sentence is the same after a restart.
  for (const name of [...remoteClusters.keys()].sort()) {
    const cluster = remoteClusters.get(name);
    if (cluster === undefined) continue;
    if (inForce === undefined && wasThereFirst(subnet, cluster)) continue;
    const asked = `spec.cidrBlock ${taken.map(formatCidr).join(',')}`;
    const route = cluster.routes.find(clashes);
    if (route !== undefined) {
      const message = `${asked} overlaps ${formatCidr(route.cidr)} of cluster ${cluster.name}, which is reached over transit switch ${route.transitSwitch}: choose a free CIDR, or let ${cluster.name} withdraw its prefix; this Subnet comes into force once it has`;
      return { code: interconnectOverlap, message };
    }
    // What is not listed may be anywhere in the networks that hold it.
    const within = cluster.unlisted.find((network) => clashes({ ...network, isLearned: false, isActive: true }));
    if (within === undefined) continue;
    const message = `${asked} may overlap a prefix of cluster ${cluster.name}, which offers more than RemoteCluster ${cluster.name} can list; those it does not list are in ${formatCidr(within.cidr)}: choose a CIDR outside of it, or let ${cluster.name} offer fewer prefixes, by aggregates or larger subnets; this Subnet comes into force once they are listed`;
    return { code: interconnectOverlap, message };
  }
  return undefined;
}
