import { learnedOrigin } from '../../route-policy/policy.ts';
import type { Remote } from '../objects.ts';
import { Collected } from './host-routes.ts';
import type { ObjectOffers } from './offer.ts';
import { selects, type View } from './view.ts';

/** Prefixes of another cluster. What that one has from its own routers is not passed on: it could come back over them. */
export function remoteOffers(view: View, remote: Remote): ObjectOffers {
  const collected = new Collected();
  for (const each of view.bySource.Interconnect) {
    if (!selects(each, remote.labels)) continue;
    for (const { prefix, origin, tags } of remote.routes) {
      if (origin === learnedOrigin) {
        const message = `prefix ${prefix} of cluster ${remote.name} comes from a router there; passing it on to routers here could make a loop`;
        collected.refuse(each.name, 'LearnedByBgp', message, prefix);
      } else {
        const remoteSide = { cluster: remote.name, origin, tags };
        const offer = { prefix, advertisement: each.name, nodes: undefined, remote: remoteSide };
        collected.prefix(`cluster ${remote.name}`, offer);
      }
    }
  }
  return collected;
}
