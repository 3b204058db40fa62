import type { View } from '../view.ts';
import type { Link } from '../subnet/judge.ts';
import { peeringsOf } from './peerings.ts';

/** Networks of links in force, by VPC; after a restart, of those that the statuses name. */
export function linksInForce(view: View, isRestored: boolean): ReadonlyMap<string, readonly Link[]> {
  const links = new Map<string, readonly Link[]>();
  for (const { name, spec, status } of view.vpcs.values()) {
    if (spec.vpcPeerings.length === 0) continue;
    const noted: unknown = status['vpcPeerings'];
    const wasInForce = (remote: string): boolean => !isRestored || (Array.isArray(noted) && noted.includes(remote));
    const own = peeringsOf(view, name).flatMap(({ remote, link = [] }) =>
      wasInForce(remote) ? link.map(({ cidr }): Link => ({ remote, cidr })) : [],
    );
    links.set(name, own);
  }
  return links;
}
