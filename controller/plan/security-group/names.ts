/**
 * What security groups are made of. In: SecurityGroups, and pods that name them. Out: a port group with its rules and two
 * address sets for each (`security-group.ts`), one port group that drops what no rule allows (`deny-all.ts`), and the
 * memberships of ports (`membership.ts`), which are planned with the port. The rule that must not be broken: a port that
 * names any group is in the dropping one from its first transaction to its last.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { securityGroupPrefix, securityPortGroup } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';

/** The group of all ports that are in any. */
export const denyAllGroup = `${securityGroupPrefix}kubeovn_deny_all`;

/** Priorities in OVN, where the highest wins; a rule's own counts down from `rule`. */
export const groupPriority = { rule: 18484, base: 2005, sameGroup: 2004, deny: 2003 } as const;

/** Tier in OVN of the groups of tier 0. */
export const firstTier = 2;

/** The last tier of OVN: what it passes on meets no rule any more. */
export const lastTier = 3;

/** The addresses of a group's members. */
export function memberSet(name: string, family: Family): string {
  return `${securityPortGroup(name)}.associated.v${family}`;
}

const conflictCode = 'NameConflict';

const inOrder = byRight(unlessRefused(new Set([conflictCode])));

/** Why a group has no rows of its own: another one made the same names in OVN before. */
export function nameConflictOf(view: Pick<View, 'securityGroups' | 'indexes'>, name: string): Problem | undefined {
  const group = view.securityGroups.get(name);
  if (group === undefined) return undefined;
  for (const twin of view.indexes.groupsByPortGroup.of(securityPortGroup(name))) {
    const other = view.securityGroups.get(twin);
    if (other === undefined || twin === name || inOrder(group, other) < 0) continue;
    const message = `the name ${name} makes the same OVN port group name as security group ${twin}: choose another name`;
    return { code: conflictCode, message };
  }
  return undefined;
}
