import { rulesDigest } from '../../../lib/api/rules-digest.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { ObjectChange } from '../../model/change.ts';
import type { SecurityGroup } from '../../model/objects.ts';
import { securityPortGroup, memberSet } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { nameConflictOf } from '../../settle/security-group/served-groups.ts';
import { obstacleConditions, warnings } from '../conditions.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedCondition } from '../report.ts';
import type { Feature } from '../feature.ts';
import { withoutFormer } from '../finalizers.ts';
import { vendorIds } from '../names.ts';
import { aclRow, portGroupRow } from '../acl-tier/port-group-acl.ts';
import { gateAction } from '../acl-tier/tiers.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { baseAcls, ownAcls, rulesOf } from './group-acls.ts';
import { groupPriority } from './names.ts';
import { passingNames } from './passing.ts';
import { lastTier } from './tiers.ts';

const directions = ['to-lport', 'from-lport'] as const;

function isReached(view: View, { spec }: SecurityGroup): boolean {
  return view.capabilities.aclTier || spec.tier === 0;
}

/**
 * A group's rows. What reaches a pod is judged in tier 1 only if a rule has passed it on, which `passed-on.ts` plans. The drop at the end belongs to the
 * rule here, so that a packet is always judged, also while those rows are not written.
 */
function aclsOf(view: View, group: SecurityGroup, direction: Acl['direction']): readonly Acl[] {
  const base = baseAcls(view, group.name, direction);
  const isPlanned = isReached(view, group) && (direction === 'from-lport' || group.spec.tier === 0);
  const own = isPlanned ? ownAcls(view, group, direction) : [];
  const isPassedOn = ({ action }: Acl): boolean => direction === 'to-lport' && action === 'pass';
  const closing = own
    .filter(isPassedOn)
    .map((acl): Acl => ({ ...acl, priority: groupPriority.passed, action: 'drop', tier: lastTier }));
  return [...base, ...own, ...closing];
}

function planSecurityGroup(view: View, name: string): Desired {
  const group = view.securityGroups.get(name);
  const served = view.servedGroups.get(name);
  if (group === undefined || served === undefined) return { rows: [] };
  const key = served.portGroup;
  const ids = { ...vendorIds, type: 'security_group', sg: name };
  const acls = directions
    .flatMap((direction) => aclsOf(view, group, direction))
    .map((acl) => aclRow(key, { ...acl, action: gateAction(view.capabilities, acl.direction, acl.action) }));
  const sets = ([4, 6] as const).map((family): DesiredRow => ({
    table: 'Address_Set',
    key: memberSet(name, family),
    columns: { external_ids: ids },
    collects: ['addresses'],
  }));
  return {
    rows: [
      portGroupRow(key, ids),
      ...sets,
      // The same rule twice is one.
      ...new Map(acls.map((row) => [row.key, row])).values(),
    ],
  };
}

/** At most so many rules are named in a message. */
const namedRules = 3;

/** Problems of a group's spec. */
export function securityGroupProblem(view: View, name: string): Problem | undefined {
  const group = view.securityGroups.get(name);
  if (group === undefined) return undefined;
  const conflict = nameConflictOf(view, name);
  if (conflict !== undefined) return conflict;
  if (!isReached(view, group)) {
    const message = `spec.tier ${group.spec.tier} needs an OVN with ACL tiers (23.06 and newer): no rule of the group is in force, and the group allows its members no traffic; use tier 0`;
    return { code: 'NotSupported', message };
  }
  const rules = directions.flatMap((direction) => rulesOf(view, group, direction));
  const wrong = rules.flatMap(({ field, problem }) => (problem ? [{ field, problem }] : []));
  const [first] = wrong;
  if (first === undefined) return undefined;
  const named = wrong.slice(0, namedRules).map(({ field, problem }) => `${field}: ${problem.message}`);
  const rest = wrong.length > namedRules ? `; and ${wrong.length - namedRules} more rules` : '';
  return { code: first.problem.code, message: `${named.join('; ')}${rest}` };
}

export function planSecurityGroupConditions(
  view: View,
  name: string,
  refused: Problem | undefined,
): readonly WantedCondition[] {
  const generation = view.securityGroups.get(name)?.generation ?? 0;
  return obstacleConditions(generation, securityGroupProblem(view, name), refused, 'SecurityGroupReady');
}

/** Status besides conditions; the field names are Kube-OVN's. */
export function planSecurityGroupStatus(
  view: View,
  name: string,
  refused: Problem | undefined,
): Readonly<Record<string, unknown>> {
  const isServed = view.servedGroups.has(name);
  const isInForce = isServed && refused === undefined;
  const group = view.securityGroups.get(name);
  return {
    portGroup: isServed ? securityPortGroup(name) : '',
    allowSameGroupTraffic: group?.spec.allowSameGroupTraffic ?? false,
    ingressLastSyncSuccess: isInForce,
    egressLastSyncSuccess: isInForce,
    ingressMd5: rulesDigest(group?.spec.ingressRules ?? []),
    egressMd5: rulesDigest(group?.spec.egressRules ?? []),
  };
}

/** The port group of a security group that was created, deleted or recreated; undefined otherwise. */
export function regrouped(change: ObjectChange): string | undefined {
  if (change.kind !== 'securityGroups') return undefined;
  const { before, after } = change;
  const isSame = before !== undefined && after !== undefined && before.createdMs === after.createdMs;
  return isSame ? undefined : securityPortGroup(change.name);
}

function reportSecurityGroup(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'securityGroups', name } as const;
  const group = view.securityGroups.get(name);
  if (group === undefined) return [{ object }];
  if (group.isDeleting) return [{ object, finalizers: withoutFormer(group.finalizers) }];
  const refused = refusalOf(outcome);
  const conditions = planSecurityGroupConditions(view, name, refused);
  const fields = planSecurityGroupStatus(view, name, refused);
  return [{ object, status: { fields, conditions, events: warnings(group.conditions, conditions) } }];
}

export const securityGroupFeature: Feature = {
  name: 'security-group',
  all: (view) => view.securityGroups.keys(),
  *reads(change, view) {
    if (change.kind !== 'securityGroups') return;
    yield change.name;
    // Whether they pass packets on depends on the number of all such rules, and of those that judge the packets.
    yield* passingNames(view);
    const portGroup = regrouped(change);
    if (portGroup === undefined) return;
    yield* view.indexes.groupsByPortGroup.of(portGroup);
    yield* view.indexes.groupsByRemoteGroup.of(portGroup);
  },
  plan: planSecurityGroup,
  report: reportSecurityGroup,
};
