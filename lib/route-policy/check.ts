/** Compiles a RoutePolicy's spec to rules, or returns its problem. Pure. */
import type { BgpAttributes } from '../api/kinds/bgp-advertisement.ts';
import type { RoutePolicySpec, RouteRule } from '../api/kinds/route-policy.ts';
import { attributesProblem, communityProblem } from './bgp-attributes.ts';
import type { Problem } from '../desired/problem.ts';
import { cidrsOverlap, formatCidr, hasHostBits, parseCidr, type Cidr } from '../net/cidr.ts';
import { bitsOf } from '../net/ip.ts';
import { specialUse } from '../net/special-use.ts';
import { RuleIndex, type PrefixRange } from './rule-index.ts';

export interface CompiledRule {
  readonly index: number;
  readonly isAllowed: boolean;
  readonly origins: ReadonlySet<string> | undefined;
  readonly tags: ReadonlySet<string> | undefined;
  readonly vpcs: ReadonlySet<string> | undefined;
  readonly clusters: ReadonlySet<string> | undefined;
  readonly setTags: readonly string[];
  readonly preference: number;
  readonly aggregate: Cidr | undefined;
  readonly communities: ReadonlySet<string> | undefined;
  readonly sources: ReadonlySet<string> | undefined;
  readonly setBgp: BgpAttributes | undefined;
}

export interface CompiledPolicy {
  readonly name: string;
  readonly spec: RoutePolicySpec;
  readonly transitSwitches: ReadonlySet<string> | undefined;
  readonly rules: readonly CompiledRule[];
  readonly index: RuleIndex;
}

/** Preference of a route whose rule sets none. Of several routes to one prefix, the one with the highest preference is used. */
export const defaultPreference = 100;
const shownProblems = 3;

/** Joins all problems of a spec into one, so that one edit can correct them all. */
export function compileSpec(name: string, spec: RoutePolicySpec): CompiledPolicy | Problem {
  const problems: Problem[] = [];
  const ranges = spec.rules.map((rule, index) => rangesOf(rule, `rules[${index}]`, problems));
  const rules = spec.rules.map((rule, index) => compileRule(rule, index, ranges[index], problems));
  const first = problems[0];
  if (first !== undefined) return { code: first.code, message: joined(problems) };
  return { name, spec, transitSwitches: setOf(spec.transitSwitches), rules, index: new RuleIndex(ranges) };
}

function compileRule(
  rule: RouteRule,
  index: number,
  ranges: readonly PrefixRange[] | undefined,
  problems: Problem[],
): CompiledRule {
  const { match, action, setTags = [], setPreference = defaultPreference, setBgp } = rule;
  const problem = setBgp && attributesProblem(setBgp, `rules[${index}].setBgp`);
  if (problem !== undefined) problems.push(problem);
  for (const message of (match.communities ?? []).flatMap((community) => communityProblem(community) ?? []))
    problems.push({ code: 'CommunityInvalid', message: `rules[${index}].match.communities: ${message}` });
  return {
    index,
    isAllowed: action === 'Allow',
    origins: setOf(match.origins),
    tags: setOf(match.tags),
    vpcs: setOf(match.vpcs),
    clusters: setOf(match.clusters),
    setTags,
    preference: setPreference,
    communities: setOf(match.communities),
    sources: setOf(match.sources),
    setBgp,
    aggregate: rule.aggregate === undefined ? undefined : aggregateOf(rule.aggregate, index, ranges, problems),
  };
}

function rangesOf({ match }: RouteRule, place: string, problems: Problem[]): readonly PrefixRange[] | undefined {
  return match.prefixes?.flatMap(({ cidr: text, ge, le }, index) => {
    const where = `${place}.match.prefixes[${index}]`;
    const cidr = networkOf(text, `${where}.cidr`, 'PrefixInvalid', problems);
    if (cidr === undefined) return [];
    const bits = bitsOf(cidr.family);
    const range = { cidr, ge: ge ?? cidr.prefix, le: le ?? (ge === undefined ? cidr.prefix : bits) };
    const message = maskProblem(range, bits);
    if (message === undefined) return [range];
    problems.push({ code: 'MaskInvalid', message: `${where}: ${message}` });
    return [];
  });
}

function maskProblem({ cidr, ge, le }: PrefixRange, bits: number): string | undefined {
  const text = formatCidr(cidr);
  if (ge > bits || le > bits) return `no prefix of the IP family of ${text} has a mask longer than ${bits}`;
  if (ge < cidr.prefix || le < cidr.prefix)
    return `ge ${ge} to le ${le} begins before the mask of ${text}; no prefix within it has a mask shorter than ${cidr.prefix}`;
  return ge > le ? `ge ${ge} exceeds le ${le}: no prefix would match` : undefined;
}

function aggregateOf(
  text: string,
  index: number,
  ranges: readonly PrefixRange[] | undefined,
  problems: Problem[],
): Cidr | undefined {
  const where = `rules[${index}].aggregate`;
  const aggregate = networkOf(text, where, 'AggregateInvalid', problems);
  if (aggregate === undefined) return undefined;
  const special = specialUse(aggregate);
  if (special !== undefined) {
    const message = `${where}: ${formatCidr(aggregate)} holds addresses for ${special}, which no cluster can offer to the others`;
    problems.push({ code: 'AggregateInvalid', message });
  } else if (ranges !== undefined && ranges.length > 0 && !ranges.some((range) => reaches(range, aggregate))) {
    const message = `${where}: no prefix that match.prefixes takes can lie within ${formatCidr(aggregate)}`;
    problems.push({ code: 'AggregateOutside', message });
  }
  return aggregate;
}

/** Whether a prefix of the range can lie within the network. */
function reaches({ cidr, le }: PrefixRange, network: Cidr): boolean {
  return cidrsOverlap(cidr, network) && le >= network.prefix;
}

function networkOf(text: string, where: string, code: string, problems: Problem[]): Cidr | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined)
    problems.push({ code, message: `${where}: "${text}" is not a CIDR; write a network such as 10.16.0.0/16` });
  else if (hasHostBits(text))
    problems.push({ code, message: `${where}: "${text}" has host bits set; write ${formatCidr(cidr)}` });
  else return cidr;
  return undefined;
}

function joined(problems: readonly Problem[]): string {
  const rest = problems.length - shownProblems;
  const text = problems
    .slice(0, shownProblems)
    .map(({ message }) => message)
    .join('; ');
  return rest > 0 ? `${text}; and ${rest} more` : text;
}

function setOf(values: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return values === undefined ? undefined : new Set(values);
}
