/**
 * Which security groups pass packets on, which ones judge these packets, and whether OVN can hold the ACLs for it. In: SecurityGroups, by index.
 * Out: an obstacle to rules with the policy `pass`, for `rules.ts`; the groups, for `passed-on.ts`. Rule: what costs time depends on these groups only.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { SecurityGroup } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { baseMatches } from './base.ts';

/** ACLs for all packets that groups of tier 0 pass on. Each of them is computed by northd, and by every node with a member. */
export const maxPassedOn = 4096;

/** Those of the named groups that are in force, in the order of their names. */
export function servedAmong(view: View, names: Iterable<string>): readonly SecurityGroup[] {
  return [...names].sort().flatMap((name) => {
    const group = view.servedGroups.has(name) ? view.securityGroups.get(name) : undefined;
    return group === undefined ? [] : [group];
  });
}

/** Groups of tier 0 with an ingress rule that passes packets on, in force or not. */
export function passingNames(view: View): Iterable<string> {
  return view.indexes.passingGroups.of('');
}

/** The groups in force that judge what others pass on. */
export function judgingGroups(view: View): readonly SecurityGroup[] {
  return servedAmong(view, view.indexes.groupsOfTier1.of(''));
}

/** The rules of groups in force that pass packets on to their members, and the ACLs that judge each of them. */
function countsOf(view: View): { readonly passing: number; readonly judging: number } {
  // Those of every group, and the drop.
  let [passing, judging] = [0, baseMatches('to-lport').length + 1];
  for (const { spec } of servedAmong(view, passingNames(view)))
    passing += spec.ingressRules.filter(({ policy }) => policy === 'pass').length;
  for (const { spec } of judgingGroups(view))
    judging += spec.ingressRules.length + (spec.allowSameGroupTraffic ? 2 : 0);
  return { passing, judging };
}

/** Why the rules of a group can not pass a packet on; undefined if they can. */
export function passObstacle(view: View, { spec }: SecurityGroup, direction: Acl['direction']): Problem | undefined {
  const unable = (cause: string): Problem => ({ code: 'NotSupported', message: `${cause}: use allow or drop` });
  if (!view.capabilities.aclTier) return unable('this OVN has no ACL tiers (23.06 and newer have)');
  if (spec.tier > 0) return unable('there is no tier after tier 1');
  if (direction === 'from-lport') return undefined;
  const { passing, judging } = countsOf(view);
  if (passing * judging <= maxPassedOn) return undefined;
  const message = `the ingress rules with policy 'pass' (${passing} in all groups) would need ${judging} ACLs each for the rules of the groups of tier 1, and ${maxPassedOn} ACLs are allowed together: use fewer rules of either kind`;
  return { code: 'TooManyRules', message };
}
