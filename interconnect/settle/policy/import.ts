/** Whether a prefix that another cluster offers is used here, and how much it is preferred. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import { defaultPreference, type CompiledRule } from '../../../lib/route-policy/check.ts';
import type { PolicySet } from '../../../lib/route-policy/compile.ts';
import { decide, matchesTraits } from '../../../lib/route-policy/decide.ts';
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

/** `decidedBy` is undefined if no policy applied. */
export type ImportVerdict =
  | {
      readonly allowed: true;
      readonly preference: number;
      /** Tags of the prefix and those that the rule added. */
      readonly tags: readonly string[];
      readonly decidedBy: Decision | undefined;
    }
  | { readonly allowed: false; readonly problem: Problem; readonly decidedBy: Decision | undefined };

/** Codes: `Denied`, `PrefixInvalid`. */
export function importVerdict(set: PolicySet, prefix: OfferedPrefix): ImportVerdict {
  const cidr = parseCidr(prefix.cidr);
  if (cidr === undefined) {
    const message = `"${prefix.cidr}", which ${prefix.cluster} offers, is not a CIDR; it is left out until ${prefix.cluster} corrects it`;
    return { allowed: false, problem: { code: 'PrefixInvalid', message }, decidedBy: undefined };
  }
  const policies = set.imports.filter(({ transitSwitches }) => transitSwitches?.has(prefix.transitSwitch) !== false);
  const decided = decide(
    policies,
    cidr,
    (rule) => rule.clusters?.has(prefix.cluster) !== false && matchesTraits(rule, prefix),
  );
  if (decided?.isAllowed === false) return denied(prefix, decided.decidedBy);
  return allowed(prefix, decided?.rule, decided?.decidedBy);
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
