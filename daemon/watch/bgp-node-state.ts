/** Parses the BgpNodeState of this node and its slices: learned prefixes and the interfaces of unnumbered neighbours. The other fields do not concern the daemon. */
import { z } from 'zod';
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { readAs } from '../../lib/api/read-as.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { SlicedView } from '../../lib/slices/slice.ts';
import type { LearnedEntry, BgpNodeState } from '../model/bgp-node-state.ts';

type Learned = Pick<BgpNodeState, 'entries' | 'problems'>;

const shape = z.looseObject({ interfaces: z.array(z.string()).optional() });

export const bgpNodeStateView: SlicedView<BgpRoute, Learned, BgpNodeState> = {
  kind: bgpRoutes,
  merge: (routes) => {
    const read = routes.map(parseEntry);
    return {
      entries: read.flatMap((one) => ('prefix' in one ? [one] : [])),
      problems: read.flatMap((one) => ('code' in one ? [one] : [])),
    };
  },
  parse: (raw) => {
    const { name, uid } = raw.metadata;
    const { interfaces = [] } = readAs(shape, raw['status']).data ?? {};
    return (learned) => ({ name, uid, interfaces, ...learned });
  },
};

/** A link-local next hop is written with its interface: `fe80::1%eth0`. */
function parseEntry(route: BgpRoute): LearnedEntry | Problem {
  const [address = '', device] = route.nextHop.split('%', 2);
  const [cidr, ip] = [parseCidr(route.prefix), parseIp(address)];
  if (cidr === undefined || ip === undefined) {
    const message = `a BgpRouteSlice has ${JSON.stringify(route)}, which is not a prefix with a next hop; it is left out`;
    return { code: 'LearnedRouteInvalid', message };
  }
  return { prefix: formatCidr(cidr), nextHop: formatIp(ip), device: device || undefined, preference: route.preference };
}
