/** The ACLs of one security group, before they are rows. In: the group. Out: what each of its rules permits, and the problems of rules. */
import type { SecurityGroup } from '../../model/objects.ts';
import { memberSet, securityPortGroup } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { baseMatches } from './base.ts';
import { groupPriority } from './names.ts';
import { passObstacle } from './passing.ts';
import { readRule } from './rules.ts';
import type { ReadRule } from './rules.ts';
import { firstTier, tiersOf } from './tiers.ts';

type Direction = Acl['direction'];

export function baseAcls(view: View, name: string, direction: Direction): readonly Acl[] {
  const port = direction === 'to-lport' ? 'outport' : 'inport';
  return tiersOf(view, direction).flatMap((tier) =>
    baseMatches(direction).map((match): Acl => {
      const full = `${port} == @${securityPortGroup(name)} && ${match}`;
      return { direction, priority: groupPriority.base, match: full, action: 'allow-related', tier };
    }),
  );
}

export interface FieldRule extends ReadRule {
  /** `spec.ingressRules[0]`. */
  readonly field: string;
}

export function rulesOf(view: View, group: SecurityGroup, direction: Direction): readonly FieldRule[] {
  const isIngress = direction === 'to-lport';
  const [field, rules] = isIngress
    ? ['ingressRules', group.spec.ingressRules]
    : ['egressRules', group.spec.egressRules];
  const context = {
    group: group.name,
    direction,
    tier: tierOf(view, group),
    passObstacle: rules.some(({ policy }) => policy === 'pass') ? passObstacle(view, group, direction) : undefined,
    hasGroup: (name: string) => view.servedGroups.has(name),
  };
  return rules.map((rule, index) => ({ ...readRule(rule, context), field: `spec.${field}[${index}]` }));
}

/** A group's own ACLs: its rules, and what permits traffic between its members. */
export function ownAcls(view: View, group: SecurityGroup, direction: Direction): readonly Acl[] {
  const { name, spec } = group;
  return [
    ...(spec.allowSameGroupTraffic ? sameGroupAcls(name, tierOf(view, group), direction) : []),
    ...rulesOf(view, group, direction).flatMap(({ acl }) => acl ?? []),
  ];
}

function sameGroupAcls(name: string, tier: number | undefined, direction: Direction): readonly Acl[] {
  const [port, end] = direction === 'to-lport' ? ['outport', 'src'] : ['inport', 'dst'];
  return ([4, 6] as const).map((family): Acl => {
    const match = `${port} == @${securityPortGroup(name)} && ip${family} && ip${family}.${end} == $${memberSet(name, family)}`;
    return { direction, priority: groupPriority.sameGroup, match, action: 'allow-related', tier };
  });
}

/** Tier of a group's own rules; without tiers those of tier 1 are never come to. */
function tierOf(view: View, { spec }: SecurityGroup): number | undefined {
  return view.capabilities.aclTier ? firstTier + spec.tier : undefined;
}
