/** The networks of ClusterSet IPs. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';

/** A network that ClusterSet IPs must not be in. */
export interface Occupied {
  /** For messages: `Subnet ovn-default`. */
  readonly name: string;
  readonly cidr: Cidr;
}

export interface ClusterSetNetworks {
  /** One for each family. */
  readonly networks: readonly Cidr[];
  /** Why no import gets an address of the family; those that have one keep it. */
  readonly problems: ReadonlyMap<Family, Problem>;
}

/** @param text networks, separated by commas */
export function clusterSetNetworks(text: string, occupied: readonly Occupied[]): ClusterSetNetworks {
  const networks: Cidr[] = [];
  const problems = new Map<Family, Problem>();
  for (const part of text.split(',').map((one) => one.trim())) {
    const cidr = parseCidr(part);
    if (cidr === undefined || networks.some(({ family }) => family === cidr.family)) continue;
    networks.push(cidr);
    const held = occupied.find((one) => cidrsOverlap(one.cidr, cidr));
    if (held === undefined) continue;
    const message = `${formatCidr(cidr)} of spec.clusterSetCIDR of the Interconnect overlaps ${formatCidr(held.cidr)} (${held.name}): choose a network that nothing else in the cluster uses`;
    problems.set(cidr.family, { code: 'ClusterSetCIDROverlap', message });
  }
  for (const family of [4, 6] as const) {
    if (networks.some((one) => one.family === family)) continue;
    const message = `spec.clusterSetCIDR of the Interconnect has no network of IPv${family}: add one`;
    problems.set(family, { code: 'ClusterSetCIDRMissing', message });
  }
  return { networks, problems };
}
