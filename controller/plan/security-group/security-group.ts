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
import { aclRow } from '../acl-tier/port-group-acl.ts';
import { gateAction } from '../acl-tier/tiers.ts';
import { firstTier, tiersOf } from './tiers.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { groupPriority } from './names.ts';
import { readRule } from './rules.ts';
import type { ReadRule } from './rules.ts';

const directions = ['to-lport', 'from-lport'] as const;

/** Traffic that every member needs: neighbours, router advertisements, DHCP, VRRP. */
function baseAcls(view: View, name: string): readonly Acl[] {
  const group = securityPortGroup(name);
  return directions.flatMap((direction) =>
    tiersOf(view, direction).flatMap((tier) => {
      const isIngress = direction === 'to-lport';
      // Advertisements come in and solicitations go out.
      const neighbours = isIngress ? '{130, 134, 135, 136}' : '{130, 133, 135, 136}';
      const [source, destination] = isIngress ? [67, 68] : [68, 67];
      const [source6, destination6] = isIngress ? [547, 546] : [546, 547];
      const matches = [
        'arp',
        `icmp6.type == ${neighbours} && icmp6.code == 0 && ip.ttl == 255`,
        `udp.src == ${source} && udp.dst == ${destination} && ip4`,
        `udp.src == ${source6} && udp.dst == ${destination6} && ip6`,
        'ip.proto == 112',
      ];
      return matches.map((match): Acl => {
        const full = `${isIngress ? 'outport' : 'inport'} == @${group} && ${match}`;
        return { direction, priority: groupPriority.base, match: full, action: 'allow-related', tier };
      });
    }),
  );
}

function sameGroupAcls(name: string, tier: number | undefined): readonly Acl[] {
  const group = securityPortGroup(name);
  return directions.flatMap((direction) =>
    ([4, 6] as const).map((family): Acl => {
      const [port, end] = direction === 'to-lport' ? ['outport', 'src'] : ['inport', 'dst'];
      const match = `${port} == @${group} && ip${family} && ip${family}.${end} == $${memberSet(name, family)}`;
      return { direction, priority: groupPriority.sameGroup, match, action: 'allow-related', tier };
    }),
  );
}

/** Tier of a group's own rules; without tiers those of tier 1 are never come to. */
function tierOf(view: View, { spec }: SecurityGroup): number | undefined {
  return view.capabilities.aclTier ? firstTier + spec.tier : undefined;
}

function isReached(view: View, { spec }: SecurityGroup): boolean {
  return view.capabilities.aclTier || spec.tier === 0;
}

function rulesOf(view: View, group: SecurityGroup): readonly (ReadRule & { readonly field: string })[] {
  const { ingressRules, egressRules } = group.spec;
  return directions.flatMap((direction) => {
    const [field, rules] = direction === 'to-lport' ? ['ingressRules', ingressRules] : ['egressRules', egressRules];
    const context = {
      group: group.name,
      direction,
      tier: tierOf(view, group),
      hasGroup: (name: string) => view.servedGroups.has(name),
    };
    return rules.map((rule, index) => ({ ...readRule(rule, context), field: `spec.${field}[${index}]` }));
  });
}

function planSecurityGroup(view: View, name: string): Desired {
  const group = view.securityGroups.get(name);
  const served = view.servedGroups.get(name);
  if (group === undefined || served === undefined) return { rows: [] };
  const key = served.portGroup;
  const ids = { ...vendorIds, type: 'security_group', sg: name };
  const own = isReached(view, group)
    ? [
        ...(group.spec.allowSameGroupTraffic ? sameGroupAcls(name, tierOf(view, group)) : []),
        ...rulesOf(view, group).flatMap(({ acl }) => acl ?? []),
      ]
    : [];
  const acls = [...baseAcls(view, name), ...own].map((acl) =>
    aclRow(key, { ...acl, action: gateAction(view.capabilities, acl.direction, acl.action) }),
  );
  const sets = ([4, 6] as const).map((family): DesiredRow => ({
    table: 'Address_Set',
    key: memberSet(name, family),
    columns: { external_ids: ids },
    collects: ['addresses'],
  }));
  return {
    rows: [
      { table: 'Port_Group', key, columns: { external_ids: ids }, collects: ['ports'] },
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
  const wrong = rulesOf(view, group).flatMap(({ field, problem }) => (problem ? [{ field, problem }] : []));
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
    const portGroup = regrouped(change);
    if (portGroup === undefined) return;
    yield* view.indexes.groupsByPortGroup.of(portGroup);
    yield* view.indexes.groupsByRemoteGroup.of(portGroup);
  },
  plan: planSecurityGroup,
  report: reportSecurityGroup,
};
