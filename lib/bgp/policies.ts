// RoutePolicies of BGP sessions: which prefixes are sent to a peer, and which of its prefixes are used. lib/route-policy evaluates the
// rules; this file supplies their input. A prefix that no policy of a peer decides is sent, but not imported (RFC 8212).
import type { BgpAttributes } from '../api/kinds/bgp-advertisement.ts';
import { defaultVpc } from '../api/names.ts';
import { parseCidr } from '../net/cidr.ts';
import { type CompiledPolicy, type CompiledRule, defaultPreference } from '../route-policy/check.ts';
import { compilePolicies, noPolicies, type PolicySet } from '../route-policy/compile.ts';
import { decide, matchesTraits } from '../route-policy/decide.ts';
import { type Decision, learnedOrigin, type RoutePolicy } from '../route-policy/policy.ts';

/** A prefix that is about to be announced. */
export interface Outgoing {
  readonly prefix: string;
  /** Sources of the advertisements with the prefix. */
  readonly sources: readonly string[];
  /** The cluster of the prefix, if it is another cluster. */
  readonly cluster: string | undefined;
  readonly origin: string;
  readonly tags: readonly string[];
}

/** A prefix that a router sent. */
export interface Incoming {
  readonly prefix: string;
  /** Standard and large. */
  readonly communities: readonly string[];
}

export interface ExportVerdict {
  readonly isAllowed: boolean;
  readonly sets: BgpAttributes | undefined;
  readonly decidedBy: Decision | undefined;
}

export interface ImportVerdict {
  readonly isAllowed: boolean;
  readonly preference: number;
  readonly tags: readonly string[];
  readonly decidedBy: Decision | undefined;
}

/** Policies in force by BgpPeer, in order of evaluation. */
export class BgpPolicies {
  readonly set: PolicySet;
  /** Names of BgpPeers, existing or not, with an export policy. */
  readonly exporting: readonly string[];
  readonly #exports: ReadonlyMap<string, readonly CompiledPolicy[]>;
  readonly #imports: ReadonlyMap<string, readonly CompiledPolicy[]>;

  constructor(policies: Iterable<RoutePolicy>, before: PolicySet = noPolicies) {
    const named = [...policies].filter(
      ({ spec, inForce }) => ('code' in spec ? inForce : spec)?.bgpPeers !== undefined,
    );
    this.set = compilePolicies(named, before);
    this.#exports = byPeer(this.set.exports);
    this.#imports = byPeer(this.set.imports);
    this.exporting = [...this.#exports.keys()];
  }

  exportVerdict(peer: string, outgoing: Outgoing): ExportVerdict {
    const { cluster, sources } = outgoing;
    const traits = { ...outgoing, vpc: defaultVpc };
    const cidr = parseCidr(outgoing.prefix);
    if (cidr === undefined) return { isAllowed: false, sets: undefined, decidedBy: undefined };
    const decided = decide(this.#exports.get(peer) ?? [], cidr, (rule) => {
      if (rule.sources && !sources.some((source) => rule.sources?.has(source))) return false;
      if (rule.clusters && !(cluster !== undefined && rule.clusters.has(cluster))) return false;
      return matchesTraits(rule, traits);
    });
    return { isAllowed: decided?.isAllowed ?? true, sets: decided?.rule?.setBgp, decidedBy: decided?.decidedBy };
  }

  importVerdict(peer: string, { prefix, communities }: Incoming): ImportVerdict {
    const traits = { origin: learnedOrigin, vpc: defaultVpc, tags: [] };
    const isMeant = (rule: CompiledRule): boolean =>
      (!rule.communities || communities.some((community) => rule.communities?.has(community))) &&
      matchesTraits(rule, traits);
    const cidr = parseCidr(prefix);
    const decided = cidr && decide(this.#imports.get(peer) ?? [], cidr, isMeant);
    return {
      isAllowed: decided?.isAllowed ?? false,
      preference: decided?.rule?.preference ?? defaultPreference,
      tags: decided?.rule?.setTags ?? [],
      decidedBy: decided?.decidedBy,
    };
  }
}

function byPeer(policies: readonly CompiledPolicy[]): ReadonlyMap<string, readonly CompiledPolicy[]> {
  const found = new Map<string, CompiledPolicy[]>();
  for (const policy of policies)
    for (const peer of policy.spec.bgpPeers ?? []) found.set(peer, [...(found.get(peer) ?? []), policy]);
  return found;
}
