/** Which rule of which policy decides about a prefix. Pure. */
import type { Cidr } from '../net/cidr.ts';
import type { CompiledPolicy, CompiledRule } from './check.ts';
import type { Decision } from './policy.ts';

export interface Decided {
  /** Undefined if a policy's defaultAction decided. */
  readonly rule: CompiledRule | undefined;
  readonly isAllowed: boolean;
  readonly decidedBy: Decision;
}

/**
 * The first rule that matches decides, or before the next policy is asked the defaultAction of this one. Undefined if no policy has
 * anything to say.
 * @param policies those that concern the question, in the order they are asked
 * @param matches all of a rule but its prefixes
 */
export function decide(
  policies: Iterable<CompiledPolicy>,
  cidr: Cidr,
  matches: (rule: CompiledRule) => boolean,
  actionWithoutRule = defaultActionOf,
): Decided | undefined {
  for (const policy of policies) {
    const rule = firstMatch(policy, cidr, matches);
    const action = rule === undefined ? actionWithoutRule(policy) : rule.isAllowed ? 'Allow' : 'Deny';
    if (action === 'Next') continue;
    return { rule, isAllowed: action === 'Allow', decidedBy: { policy: policy.name, rule: rule?.index } };
  }
  return undefined;
}

function defaultActionOf({ spec }: CompiledPolicy): CompiledPolicy['spec']['defaultAction'] {
  return spec.defaultAction;
}

function firstMatch(
  { index, rules }: CompiledPolicy,
  cidr: Cidr,
  matches: (rule: CompiledRule) => boolean,
): CompiledRule | undefined {
  for (const at of index.rulesFor(cidr)) {
    const rule = rules[at];
    if (rule !== undefined && matches(rule)) return rule;
  }
  return undefined;
}

/** Conditions of a rule that apply to a prefix of any origin. */
export function matchesTraits(
  rule: CompiledRule,
  { origin, vpc, tags }: { readonly origin: string; readonly vpc: string; readonly tags: readonly string[] },
): boolean {
  if (rule.origins?.has(origin) === false || rule.vpcs?.has(vpc) === false) return false;
  const wanted = rule.tags;
  return wanted === undefined || tags.some((tag) => wanted.has(tag));
}
