/**
 * Whether and how a node announces a prefix to a peer. Pure. `bgp routes` and `bgp why` call it for every session, so that they
 * agree.
 */
import { unmetParts } from '../../../lib/api/label-selector.ts';
import type { ClassAdvertisement, RouteClass } from '../../../lib/bgp/classes.ts';
import { advertisementsFor, exportOf } from '../../../lib/bgp/exports.ts';
import { familyOfAddress } from '../../../lib/bgp/family.ts';
import type { AcceptedPeer } from '../../../lib/bgp/peers.ts';
import { type SentAttributes, sentTo } from '../../../lib/bgp/sent.ts';
import { describeDecision } from '../../../lib/route-policy/policy.ts';
import type { Problem } from '../../../lib/desired/problem.ts';

export type SentRoute =
  | { readonly isSent: true; readonly advertisements: readonly string[]; readonly attributes: SentAttributes }
  | { readonly isSent: false; readonly problems: readonly Problem[] };

export function sentRouteOf(peer: AcceptedPeer, prefix: string, routeClass: RouteClass): SentRoute {
  const foreign = familyProblem(peer, prefix);
  const exported = exportOf(peer, routeClass);
  if (foreign || !exported)
    return { isSent: false, problems: [...(foreign ? [foreign] : []), ...(exported ? [] : whyNot(peer, routeClass))] };
  return {
    isSent: true,
    advertisements: advertisementsFor(peer, routeClass).map(({ name }) => name),
    attributes: sentTo(peer, exported, familyOfAddress(prefix)),
  };
}

/** Undefined if sessions with the peer carry the prefix's family. */
export function familyProblem({ name, families }: AcceptedPeer, prefix: string): Problem | undefined {
  const family = familyOfAddress(prefix);
  if (families.includes(family)) return undefined;
  return {
    code: 'FamilyNotOnSession',
    message: `sessions with ${name} carry ${families.join(', ')} only; add ${family} to families of the BgpPeer`,
  };
}

function whyNot(peer: AcceptedPeer, routeClass: RouteClass): readonly Problem[] {
  const applying = new Set(advertisementsFor(peer, routeClass));
  const verdict = routeClass.verdicts.get(peer.name);
  const passedOver = routeClass.advertisements
    .filter((each) => !applying.has(each))
    .map((each) => reasonOf(peer, each));
  if (verdict?.isAllowed !== false || applying.size === 0) return passedOver;
  const by = verdict.decidedBy === undefined ? 'a RoutePolicy' : describeDecision(verdict.decidedBy);
  return [...passedOver, { code: 'Denied', message: `${by} denies it to ${peer.name}` }];
}

function reasonOf(peer: AcceptedPeer, { name, labels, peers }: ClassAdvertisement): Problem {
  const unmet = unmetParts(peer.advertisements, labels).join(', ');
  if (unmet !== '')
    return {
      code: 'AdvertisementNotSelected',
      message: `${peer.name} selects advertisements by ${unmet}; ${name} is not selected`,
    };
  return {
    code: 'PeerNotListed',
    message: `advertisement ${name} is for the peers ${(peers ?? []).join(', ')} only, not for ${peer.name}`,
  };
}
