/** The edge, BGP: prefixes that nodes learned from routers. */
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { SlicedView } from '../../lib/slices/slice.ts';
import type { BgpNodeState } from '../model/objects.ts';
import { factsOf } from './fields.ts';

/** A prefix with several next hops has their highest preference. Only the node itself uses the next hop. */
function mergeLearned(routes: readonly BgpRoute[]): BgpNodeState['learned'] {
  const learned = new Map<string, number>();
  for (const { prefix: text, vpc, preference } of routes) {
    const cidr = parseCidr(text);
    if (cidr === undefined || vpc !== defaultVpc) continue;
    const prefix = formatCidr(cidr);
    learned.set(prefix, Math.max(learned.get(prefix) ?? 0, preference));
  }
  return learned;
}

export const bgpNodeStateView: SlicedView<BgpRoute, BgpNodeState['learned'], BgpNodeState> = {
  kind: bgpRoutes,
  merge: mergeLearned,
  parse: (raw) => {
    const facts = factsOf(raw);
    return (learned) => ({ ...facts, learned });
  },
};
