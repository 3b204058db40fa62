import { listedIn } from '../../../lib/desired/rights.ts';
import type { Link } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { peeringsOf } from './judge-peerings.ts';

/** Networks of links in force, by VPC; after a restart, of those that the statuses name. */
export function linksInForce(view: View, isRestored: boolean): ReadonlyMap<string, readonly Link[]> {
  const links = new Map<string, readonly Link[]>();
  for (const vpc of view.vpcs.values()) {
    const { name, spec } = vpc;
    if (spec.vpcPeerings.length === 0) continue;
    const noted = listedIn(vpc, 'vpcPeerings');
    const wasInForce = (remote: string): boolean => !isRestored || noted.includes(remote);
    const own = peeringsOf(view, name).flatMap(({ remote, link = [] }) =>
      wasInForce(remote) ? link.map(({ cidr }): Link => ({ remote, cidr })) : [],
    );
    links.set(name, own);
  }
  return links;
}
