/** What of this cluster's prefixes the others are told, and who of them. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrCovers, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { Prefix } from '../../link/messages.ts';
import type { CompiledPolicy, CompiledRule } from '../../../lib/route-policy/check.ts';
import type { PolicySet } from '../../../lib/route-policy/compile.ts';
import { Audience, Undecided, type Destinations } from './destinations.ts';
import { matchesTraits } from './import.ts';
import { describeDecision, type Decision } from '../../../lib/route-policy/policy.ts';

/** A prefix that this cluster could offer. */
export interface OwnPrefix {
  /** Normalised. */
  readonly cidr: string;
  readonly origin: string;
  readonly tags: readonly string[];
  readonly via: readonly string[];
}

export interface ExportQuestion {
  readonly vpc: string;
  readonly transitSwitch: string;
  readonly prefixes: readonly OwnPrefix[];
}

export interface ExportAnswer {
  /** One for each CIDR, in the order their first prefix came. */
  readonly prefixes: readonly Prefix[];
  /** Prefixes that no cluster is told of, by CIDR; code `Denied`, or `PrefixInvalid`. */
  readonly withheld: ReadonlyMap<string, Problem>;
  /** Each decision once a prefix: for `tally`. */
  readonly decisions: readonly Decision[];
}

/** What one decision lets out of one prefix. */
interface Part {
  readonly to: Destinations;
  readonly rule: CompiledRule | undefined;
}

interface Told {
  origin: string;
  readonly tags: Set<string>;
  readonly via: Set<string>;
  readonly to: Audience;
}

/**
 * A prefix is told with one set of tags, those of every rule that let it out to somebody: the hub holds one row for it.
 * An aggregate takes the place of the prefixes within it for those clusters that its rule is about.
 */
export function exportPrefixes(set: PolicySet, { vpc, transitSwitch, prefixes }: ExportQuestion): ExportAnswer {
  const policies = set.exports.filter(({ transitSwitches }) => transitSwitches?.has(transitSwitch) !== false);
  const told = new Map<string, Told>();
  const withheld = new Map<string, Problem>();
  const decisions: Decision[] = [];
  for (const prefix of prefixes) {
    const cidr = parseCidr(prefix.cidr);
    if (cidr === undefined) {
      const message = `"${prefix.cidr}" is no CIDR and is not told to other clusters; correct where it comes from`;
      withheld.set(prefix.cidr, { code: 'PrefixInvalid', message });
      continue;
    }
    const { parts, decidedBy } = decide(policies, cidr, { ...prefix, vpc });
    decisions.push(...decidedBy);
    for (const part of parts) tell(told, prefix, cidr, part);
    if (parts.length === 0) withheld.set(prefix.cidr, denied(prefix.cidr, transitSwitch, decidedBy));
  }
  return { prefixes: [...told].map(messageOf), withheld, decisions };
}

/** The first rule that matches decides, for each cluster by itself. */
function decide(
  policies: readonly CompiledPolicy[],
  cidr: Cidr,
  prefix: OwnPrefix & { readonly vpc: string },
): { readonly parts: readonly Part[]; readonly decidedBy: readonly Decision[] } {
  const parts: Part[] = [];
  const decidedBy: Decision[] = [];
  const undecided = new Undecided();
  for (const { name, spec, rules, index } of policies) {
    for (const at of index.rulesFor(cidr)) {
      const rule = rules[at];
      if (rule === undefined || !matchesTraits(rule, prefix)) continue;
      const to = rule.clusters === undefined ? undecided.rest() : undecided.take(rule.clusters);
      if (to === undefined) continue;
      decidedBy.push({ policy: name, rule: at });
      if (rule.isAllowed) parts.push({ to, rule });
      if (to.isRest) return { parts, decidedBy };
    }
    if (spec.defaultAction === 'Next') continue;
    decidedBy.push({ policy: name, rule: undefined });
    if (spec.defaultAction === 'Allow') parts.push({ to: undecided.rest(), rule: undefined });
    return { parts, decidedBy };
  }
  parts.push({ to: undecided.rest(), rule: undefined });
  return { parts, decidedBy };
}

function tell(told: Map<string, Told>, prefix: OwnPrefix, cidr: Cidr, { to, rule }: Part): void {
  const aggregate = rule?.aggregate;
  const isWithin = aggregate !== undefined && cidrCovers(aggregate, cidr);
  const key = formatCidr(isWithin ? aggregate : cidr);
  const origin = isWithin ? 'aggregate' : prefix.origin;
  const known = told.get(key) ?? { origin, tags: new Set(), via: new Set(), to: new Audience() };
  told.set(key, known);
  if (isWithin) known.origin = 'aggregate';
  known.to.add(to);
  for (const tag of [...prefix.tags, ...(rule?.setTags ?? [])]) known.tags.add(tag);
  for (const cluster of prefix.via) known.via.add(cluster);
}

function messageOf([cidr, { origin, tags, via, to }]: readonly [string, Told]): Prefix {
  return { cidr, origin, tags: [...tags], via: [...via], ...to.lists() };
}

function denied(cidr: string, transitSwitch: string, decidedBy: readonly Decision[]): Problem {
  const by = decidedBy.map(describeDecision).join(' and ');
  return { code: 'Denied', message: `${cidr} is told to no cluster on ${transitSwitch}: denied by ${by}` };
}
