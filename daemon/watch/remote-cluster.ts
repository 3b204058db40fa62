/** RemoteCluster → its prefixes that routers may send packets for to this node. */
import { readRemotePrefixes } from '../../lib/api/remote-prefixes.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { RemoteRoute } from '../model/interconnect.ts';

/** Without what routers there announce, and what is not listed: neither is announced to routers here. */
export function parseRemoteCluster(raw: RawObject): readonly RemoteRoute[] {
  return readRemotePrefixes(raw).listed.flatMap(({ cidr, transitSwitch, isActive, origin }) =>
    isActive && origin !== learnedOrigin ? [{ prefix: formatCidr(cidr), transitSwitch }] : [],
  );
}
