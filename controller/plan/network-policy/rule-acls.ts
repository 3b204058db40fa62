/**
 * The ACLs of a policy's rules in one direction. In: the rules, in their order, and the ACL of each. Out: ACLs with the rules that each of them stands for. Rules: neighbouring
 * rules with the same action say together what each of them says, so that their parts about the same ports are one ACL with the peers of all of them.
 * Dimensions of a match are conjunctions of `==`: OVN adds the pods, the peers and the ports of an ACL and does not multiply them.
 */
import { entryOf } from '../../../lib/desired/entry-of.ts';
import type { PolicyRule } from '../../../lib/policies/policy.ts';
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { matchFamily } from '../names.ts';
import { portTerm } from './names.ts';
import { isOneOf, ruleParts, type OtherEnd, type RuleContext, type RulePart } from './rule.ts';

const families = [4, 6] as const;

export interface RuleAcl {
  /** The port group that the match names: OVN knows the group where it has ports. */
  readonly group: string;
  readonly acl: Acl;
  /** Places in the list of the policy's rules, ascending. */
  readonly rules: readonly number[];
}

export interface OrderedRules {
  readonly context: Omit<RuleContext, 'index'>;
  readonly rules: readonly PolicyRule[];
  /** The ACL of a match; undefined if the rule needs none. */
  readonly aclOf: (rule: number, match: string) => Acl | undefined;
}

/** Numbers of neighbouring rules with the same action. */
function runsOf({ rules, aclOf }: OrderedRules): readonly (readonly number[])[] {
  const runs: number[][] = [];
  let before: Acl['action'] | undefined;
  for (const index of rules.keys()) {
    const action = aclOf(index, '')?.action;
    const run = runs.at(-1);
    if (run === undefined || action !== before) runs.push([index]);
    else run.push(index);
    before = action;
  }
  return runs;
}

/** Parts of rules that are about the same pods and ports. */
interface Merged {
  readonly first: RulePart;
  readonly ends: { readonly rule: number; readonly end: OtherEnd }[];
}

interface EndTerm {
  readonly term: string;
  readonly rules: readonly number[];
}

/** Terms for the other end, one for each family that has one, and one for packets of connections that exist. */
function endTerms(direction: PolicyDirection, ends: Merged['ends']): readonly EndTerm[] {
  const rulesOf = (some: Merged['ends']): readonly number[] => [...new Set(some.map(({ rule }) => rule))];
  if (ends.some(({ end }) => end === undefined)) return [{ term: 'ip', rules: rulesOf(ends) }];
  return families.flatMap((family): readonly EndTerm[] => {
    const ip = matchFamily(family);
    const termOf = (kind: 'sets' | 'kept', more: string): readonly EndTerm[] => {
      const setsOf = (end: OtherEnd): readonly string[] => end?.[kind][family] ?? [];
      const sets = [...new Set(ends.flatMap(({ end }) => setsOf(end)))].sort().map((set) => `$${set}`);
      if (sets.length === 0) return [];
      const term = `${ip} && ${isOneOf(`${ip}.${direction === 'ingress' ? 'src' : 'dst'}`, sets)}${more}`;
      return [{ term, rules: rulesOf(ends.filter(({ end }) => setsOf(end).length > 0)) }];
    };
    return [...termOf('sets', ''), ...termOf('kept', ' && ct.est && !ct.rpl')];
  });
}

export function ruleAcls(ordered: OrderedRules): readonly RuleAcl[] {
  const { context, rules, aclOf } = ordered;
  const { direction } = context;
  return runsOf(ordered).flatMap((run) => {
    const byPorts = new Map<string, Merged>();
    for (const index of run)
      for (const part of ruleParts({ ...context, index }, rules[index] as PolicyRule)) {
        const key = `${part.group} ${part.ports ?? ''}`;
        const merged = entryOf(byPorts, key, () => ({ first: part, ends: [] }));
        merged.ends.push({ rule: index, end: part.otherEnd });
      }
    return [...byPorts.values()].flatMap(({ first: { group, ports }, ends }) =>
      endTerms(direction, ends).flatMap(({ term, rules: of }): readonly RuleAcl[] => {
        const match = [portTerm(direction, group), term, ...(ports === undefined ? [] : [ports])].join(' && ');
        const acl = aclOf(run[0] as number, match);
        return acl === undefined ? [] : [{ group, acl, rules: of }];
      }),
    );
  });
}
