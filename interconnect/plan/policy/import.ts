/** Whether a prefix that another cluster offers is used here, and how much it is preferred. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { defaultPreference, type CompiledPolicy, type CompiledRule } from '../../../lib/route-policy/check.ts';
import type { PolicySet } from '../../../lib/route-policy/compile.ts';
import { describeDecision, type Decision } from '../../../lib/route-policy/policy.ts';

export interface OfferedPrefix {
  /** That offers it. */
  readonly cluster: string;
  /** Of this cluster, on that transit switch. */
  readonly vpc: string;
  readonly transitSwitch: string;
  readonly cidr: string;
  readonly origin: string;
  readonly tags: readonly string[];
}

/** `decidedBy` is undefined where no policy had anything to say. */
export type ImportVerdict =
  | {
      readonly allowed: true;
      readonly preference: number;
      /** Those of the prefix and those the rule added. */
      readonly tags: readonly string[];
      readonly decidedBy: Decision | undefined;
    }
  | { readonly allowed: false; readonly problem: Problem; readonly decidedBy: Decision | undefined };

/** Codes: `Denied`, `PrefixInvalid`. */
export function importVerdict(set: PolicySet, prefix: OfferedPrefix): ImportVerdict {
  const cidr = parseCidr(prefix.cidr);
  if (cidr === undefined) {
    const message = `"${prefix.cidr}", which ${prefix.cluster} offers, is no CIDR; it is left out until ${prefix.cluster} puts it right`;
    return { allowed: false, problem: { code: 'PrefixInvalid', message }, decidedBy: undefined };
  }
  for (const policy of set.imports) {
    if (policy.transitSwitches?.has(prefix.transitSwitch) === false) continue;
    const rule = firstMatch(policy, cidr, prefix);
    const action = rule === undefined ? policy.spec.defaultAction : rule.isAllowed ? 'Allow' : 'Deny';
    if (action === 'Next') continue;
    const decidedBy = { policy: policy.name, rule: rule?.index };
    return action === 'Deny' ? denied(prefix, decidedBy) : allowed(prefix, rule, decidedBy);
  }
  return allowed(prefix, undefined, undefined);
}

function allowed(
  { tags }: OfferedPrefix,
  rule: CompiledRule | undefined,
  decidedBy: Decision | undefined,
): ImportVerdict {
  const added = rule?.setTags ?? [];
  return {
    allowed: true,
    preference: rule?.preference ?? defaultPreference,
    tags: added.length === 0 ? tags : [...new Set([...tags, ...added])],
    decidedBy,
  };
}

function denied({ cidr, cluster, transitSwitch }: OfferedPrefix, decidedBy: Decision): ImportVerdict {
  const message = `${cidr} of ${cluster} on ${transitSwitch} is denied by ${describeDecision(decidedBy)}`;
  return { allowed: false, problem: { code: 'Denied', message }, decidedBy };
}

function firstMatch(policy: CompiledPolicy, cidr: Cidr, prefix: OfferedPrefix): CompiledRule | undefined {
  for (const index of policy.index.rulesFor(cidr)) {
    const rule = policy.rules[index];
    if (rule !== undefined && rule.clusters?.has(prefix.cluster) !== false && matchesTraits(rule, prefix)) return rule;
  }
  return undefined;
}

/** Everything but the addresses and the clusters. */
export function matchesTraits(
  rule: CompiledRule,
  { origin, vpc, tags }: { readonly origin: string; readonly vpc: string; readonly tags: readonly string[] },
): boolean {
  if (rule.origins?.has(origin) === false || rule.vpcs?.has(vpc) === false) return false;
  const wanted = rule.tags;
  return wanted === undefined || tags.some((tag) => wanted.has(tag));
}
