/**
 * Which prefixes of this cluster are offered, and to which clusters. Pure. The cluster's own prefixes are offered unless a
 * policy denies them; prefixes from routers only if a rule names their origin or a tag.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrCovers, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { Prefix } from '../../model/messages.ts';
import type { CompiledPolicy, CompiledRule } from '../../../lib/route-policy/check.ts';
import type { PolicySet } from '../../../lib/route-policy/compile.ts';
import { matchesTraits } from '../../../lib/route-policy/decide.ts';
import { Recipients, Undecided, type Destinations } from './destinations.ts';
import { describeDecision, learnedOrigin, namesLearned, type Decision } from '../../../lib/route-policy/policy.ts';

/** A prefix that this cluster could offer. */
export interface OwnPrefix {
  /** Normalised. */
  readonly cidr: string;
  readonly origin: string;
  readonly tags: readonly string[];
  readonly via: readonly string[];
}

export interface ExportInput {
  readonly vpc: string;
  readonly transitSwitch: string;
  readonly prefixes: readonly OwnPrefix[];
}

export interface ExportResult {
  /** One for each CIDR, in the order of the input. */
  readonly prefixes: readonly Prefix[];
  /** Prefixes that are offered to no cluster, by CIDR; code `Denied`, `NotOffered` or `PrefixInvalid`. */
  readonly withheld: ReadonlyMap<string, Problem>;
  /** Offered aggregates that are not prefixes of this cluster themselves. */
  readonly aggregates: readonly Cidr[];
  /** The decisions of policies, each once for every prefix that it decided; `tally` counts them. */
  readonly decisions: readonly Decision[];
}

/** The clusters that one decision offers a prefix to. */
interface Part {
  readonly to: Destinations;
  readonly rule: CompiledRule | undefined;
}

interface Verdict {
  readonly parts: readonly Part[];
  readonly decidedBy: readonly Decision[];
  /** No policy decided for the remaining clusters. */
  readonly isOpen: boolean;
}

interface Offering {
  origin: string;
  readonly tags: Set<string>;
  readonly via: Set<string>;
  readonly to: Recipients;
}

/**
 * A prefix is offered with one set of tags, those of every rule that allows it for some cluster: the hub holds one row
 * for it. An aggregate replaces the prefixes within it for the clusters that its rule is about.
 */
export function exportPrefixes(set: PolicySet, { vpc, transitSwitch, prefixes }: ExportInput): ExportResult {
  const policies = set.exports.filter(({ transitSwitches }) => transitSwitches?.has(transitSwitch) !== false);
  const offerings = new Map<string, Offering>();
  const aggregates = new Map<string, Cidr>();
  const withheld = new Map<string, Problem>();
  const decisions: Decision[] = [];
  for (const prefix of prefixes) {
    const cidr = parseCidr(prefix.cidr);
    if (cidr === undefined) {
      const message = `"${prefix.cidr}" is not a CIDR and is not offered to other clusters; correct its source`;
      withheld.set(prefix.cidr, { code: 'PrefixInvalid', message });
      continue;
    }
    const verdict = decide(policies, cidr, { ...prefix, vpc });
    decisions.push(...verdict.decidedBy);
    for (const part of verdict.parts) {
      const aggregate = aggregateOf(cidr, part);
      if (aggregate !== undefined) aggregates.set(formatCidr(aggregate), aggregate);
      offer(offerings, prefix, formatCidr(aggregate ?? cidr), { ...part, isAggregate: aggregate !== undefined });
    }
    if (verdict.parts.length === 0) withheld.set(prefix.cidr, withheldBy(prefix.cidr, transitSwitch, verdict));
  }
  for (const { cidr } of prefixes) aggregates.delete(cidr);
  return { prefixes: [...offerings].map(messageOf), withheld, aggregates: [...aggregates.values()], decisions };
}

/** The first rule that matches decides, for each cluster by itself. */
function decide(
  policies: readonly CompiledPolicy[],
  cidr: Cidr,
  prefix: OwnPrefix & { readonly vpc: string },
): Verdict {
  const isLearned = prefix.origin === learnedOrigin;
  const parts: Part[] = [];
  const decidedBy: Decision[] = [];
  const undecided = new Undecided();
  for (const { name, spec, rules, index } of policies) {
    for (const at of index.rulesFor(cidr)) {
      const rule = rules[at];
      if (rule === undefined || !matchesTraits(rule, prefix)) continue;
      if (isLearned && rule.isAllowed && !namesLearned(rule)) continue;
      const to = rule.clusters === undefined ? undecided.rest() : undecided.take(rule.clusters);
      if (to === undefined) continue;
      decidedBy.push({ policy: name, rule: at });
      if (rule.isAllowed) parts.push({ to, rule });
      if (to.isRest) return { parts, decidedBy, isOpen: false };
    }
    const { defaultAction } = spec;
    if (defaultAction === 'Next' || (isLearned && defaultAction === 'Allow')) continue;
    decidedBy.push({ policy: name, rule: undefined });
    if (defaultAction === 'Allow') parts.push({ to: undecided.rest(), rule: undefined });
    return { parts, decidedBy, isOpen: false };
  }
  if (!isLearned) parts.push({ to: undecided.rest(), rule: undefined });
  return { parts, decidedBy, isOpen: true };
}

function aggregateOf(cidr: Cidr, { rule }: Part): Cidr | undefined {
  const aggregate = rule?.aggregate;
  return aggregate !== undefined && cidrCovers(aggregate, cidr) ? aggregate : undefined;
}

/** An aggregate of a prefix from a router has the same origin: clusters that use it must not offer it to routers. */
function offer(
  offerings: Map<string, Offering>,
  prefix: OwnPrefix,
  key: string,
  { to, rule, isAggregate }: Part & { readonly isAggregate: boolean },
): void {
  const isLearned = prefix.origin === learnedOrigin;
  const origin = isAggregate && !isLearned ? 'aggregate' : prefix.origin;
  const known = offerings.get(key) ?? { origin, tags: new Set(), via: new Set(), to: new Recipients() };
  offerings.set(key, known);
  if (isLearned || (isAggregate && known.origin !== learnedOrigin)) known.origin = origin;
  known.to.add(to);
  for (const tag of [...prefix.tags, ...(rule?.setTags ?? [])]) known.tags.add(tag);
  for (const cluster of prefix.via) known.via.add(cluster);
}

function messageOf([cidr, { origin, tags, via, to }]: readonly [string, Offering]): Prefix {
  return { cidr, origin, tags: [...tags], via: [...via], ...to.lists() };
}

function withheldBy(cidr: string, transitSwitch: string, { decidedBy, isOpen }: Verdict): Problem {
  const by = decidedBy.map(describeDecision).join(' and ');
  const what = `${cidr} is offered to no cluster on ${transitSwitch}`;
  if (!isOpen) return { code: 'Denied', message: `${what}: denied by ${by}` };
  const message = `${what}: it comes from a router, and no Export rule that names origin bgp or a tag of it allows it`;
  return { code: 'NotOffered', message };
}
