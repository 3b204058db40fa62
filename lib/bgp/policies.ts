// RoutePolicies of BGP sessions: which prefixes go to a peer, and which of its prefixes are used. The rules are those of lib/route-policy;
// here is what they are asked about. What no policy of a peer decides goes out, and does not come in (RFC 8212).
import type { BgpAttributes } from '../api/kinds/bgp-advertisement.ts';
import { defaultVpc } from '../api/names.ts';
import { parseCidr } from '../net/cidr.ts';
import { type CompiledPolicy, type CompiledRule, defaultPreference } from '../route-policy/check.ts';
import { compilePolicies, noPolicies, type PolicySet } from '../route-policy/compile.ts';
import type { Decision, RoutePolicy } from '../route-policy/policy.ts';

/** A prefix that is about to be announced. */
export interface Outgoing {
  readonly prefix: string;
  /** Of the advertisements that bring it. */
  readonly sources: readonly string[];
  /** The cluster it is of, where it is another. */
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

/** Policies in force by BgpPeer, in the order they are asked. */
export class BgpPolicies {
  readonly set: PolicySet;
  /** Names of BgpPeers, there or not, that have a policy for what goes out. */
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
    const { rule, decidedBy, isAllowed } = decide(this.#exports.get(peer) ?? [], outgoing.prefix, (each) => {
      if (each.sources && !outgoing.sources.some((source) => each.sources?.has(source))) return false;
      if (each.clusters && !(outgoing.cluster !== undefined && each.clusters.has(outgoing.cluster))) return false;
      return hasTraits(each, outgoing.origin, outgoing.tags);
    });
    return { isAllowed: isAllowed ?? true, sets: rule?.setBgp, decidedBy };
  }

  importVerdict(peer: string, { prefix, communities }: Incoming): ImportVerdict {
    const { rule, decidedBy, isAllowed } = decide(
      this.#imports.get(peer) ?? [],
      prefix,
      (each) =>
        (!each.communities || communities.some((community) => each.communities?.has(community))) &&
        hasTraits(each, 'bgp', []),
    );
    return {
      isAllowed: isAllowed ?? false,
      preference: rule?.preference ?? defaultPreference,
      tags: rule?.setTags ?? [],
      decidedBy,
    };
  }
}

function byPeer(policies: readonly CompiledPolicy[]): ReadonlyMap<string, readonly CompiledPolicy[]> {
  const found = new Map<string, CompiledPolicy[]>();
  for (const policy of policies)
    for (const peer of policy.spec.bgpPeers ?? []) found.set(peer, [...(found.get(peer) ?? []), policy]);
  return found;
}

function hasTraits(rule: CompiledRule, origin: string, tags: readonly string[]): boolean {
  if (rule.origins?.has(origin) === false || rule.vpcs?.has(defaultVpc) === false) return false;
  return rule.tags === undefined || tags.some((tag) => rule.tags?.has(tag));
}

function decide(
  policies: readonly CompiledPolicy[],
  prefix: string,
  matches: (rule: CompiledRule) => boolean,
): { readonly rule?: CompiledRule; readonly decidedBy: Decision | undefined; readonly isAllowed: boolean | undefined } {
  const cidr = parseCidr(prefix);
  if (cidr === undefined) return { decidedBy: undefined, isAllowed: false };
  for (const policy of policies) {
    const at = policy.index.rulesFor(cidr).find((index) => {
      const rule = policy.rules[index];
      return rule !== undefined && matches(rule);
    });
    const rule = at === undefined ? undefined : policy.rules[at];
    if (rule) return { rule, decidedBy: { policy: policy.name, rule: rule.index }, isAllowed: rule.isAllowed };
    const { defaultAction } = policy.spec;
    if (defaultAction !== 'Next')
      return { decidedBy: { policy: policy.name, rule: undefined }, isAllowed: defaultAction === 'Allow' };
  }
  return { decidedBy: undefined, isAllowed: undefined };
}
