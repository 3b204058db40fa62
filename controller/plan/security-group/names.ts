/**
 * The rows of security groups. In: SecurityGroups, and pods that name them. Out: a port group with its rules and two
 * address sets for each (`security-group.ts`), one port group that drops traffic which no rule allows (`deny-all.ts`), and the
 * memberships of ports (`membership.ts`), which are planned with the port. Rule: a port that names any group is in the
 * dropping group from its first transaction to its last.
 */
import { securityGroupPrefix } from '../../model/ovn-names.ts';

/** The group of all ports that are in any. */
export const denyAllGroup = `${securityGroupPrefix}kubeovn_deny_all`;

/** Priorities in OVN, where the highest wins; a rule's own counts down from `rule`. In tier 1, `passed` ends what a rule passes on. */
export const groupPriority = { rule: 18484, base: 2005, sameGroup: 2004, deny: 2003, passed: 1 } as const;
