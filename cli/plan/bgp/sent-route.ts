/**
 * Whether and how a node announces a prefix to a peer; the only code of the command line that decides this. Pure.
 * Called by routes and why, for every session.
 */
import { unmetParts } from '../../../lib/api/label-selector.ts';
import type { ClassAdvertisement, RouteClass } from '../../../lib/bgp/classes.ts';
import { exportOf, toldTo } from '../../../lib/bgp/exports.ts';
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
  const told = exportOf(peer, routeClass);
  if (foreign || !told)
    return { isSent: false, problems: [...(foreign ? [foreign] : []), ...(told ? [] : whyNot(peer, routeClass))] };
  return {
    isSent: true,
    advertisements: toldTo(peer, routeClass).map(({ name }) => name),
    attributes: sentTo(peer, told, familyOfAddress(prefix)),
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
  const told = new Set(toldTo(peer, routeClass));
  const verdict = routeClass.verdicts.get(peer.name);
  const passedOver = routeClass.advertisements.filter((each) => !told.has(each)).map((each) => reasonOf(peer, each));
  if (verdict?.isAllowed !== false || told.size === 0) return passedOver;
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
