/**
 * Kube-OVN's ConfigMap `ovn-ic-config` as our objects. In: the ConfigMap and the objects as they are. Out: which
 * following objects to create, patch and delete, and what is wrong with the ConfigMap. Pure.
 *
 * Objects without the annotation belong to users and are never touched. A ConfigMap with an error changes nothing: a
 * typing mistake must not take a cluster off the network.
 */
import { ovnIcConfig, type IcConfig, type FollowingInterconnect } from '../model/ic-config.ts';
import type { RoutePolicySpec } from '../../lib/api/kinds/route-policy.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';

const hostnameLabel = 'kubernetes.io/hostname';
/** The chart's, when none is given. */
const tokenSecret = 'isthmus-interconnect-token';

export interface IcConfigState {
  /** `off`: there is none, or it does not want the cluster joined. */
  readonly config: IcConfig | readonly Problem[] | 'off';
  readonly interconnect: FollowingInterconnect | undefined;
  readonly policies: ReadonlyMap<string, Pick<RoutePolicy, 'uid' | 'from' | 'spec'>>;
  /** Labels of a node; undefined if there is no such node. */
  readonly labelsOf: (node: string) => Readonly<Record<string, string>> | undefined;
}

export interface IcWrite {
  readonly verb: 'create' | 'patch' | 'delete';
  readonly kind: 'Interconnect' | 'RoutePolicy';
  readonly name: string;
  /** Uid of the object that is changed or deleted. */
  readonly uid: string | undefined;
  /** The spec of a created object, or a merge patch; empty to delete. */
  readonly spec: object;
}

export interface IcConfigPlan {
  readonly writes: readonly IcWrite[];
  readonly problems: readonly Problem[];
}

/** `auto-route` of Kube-OVN applies to both directions. These policies are evaluated last, so that the user's policies can permit routes. */
const closedPolicies: readonly (readonly [string, RoutePolicySpec])[] = (
  [
    [ovnIcConfig, 'Export'],
    [`${ovnIcConfig}-import`, 'Import'],
  ] as const
).map(([name, direction]) => [name, { direction, priority: 65535, rules: [], defaultAction: 'Deny' }]);

export function planOvnIcConfig(state: IcConfigState): IcConfigPlan {
  const { config, interconnect } = state;
  if (config === 'off') return { writes: leave(state), problems: [] };
  if (!('clusterName' in config)) return { writes: [], problems: config };
  if (interconnect !== undefined && interconnect.from !== ovnIcConfig) {
    const message = `the Interconnect default was not made from this ConfigMap, which is therefore not followed; delete one of the two`;
    return { writes: [], problems: [{ code: 'InterconnectExists', message }] };
  }
  const policies = planPolicies(config, state);
  const { selector, unknown } = gatewaysOf(config, state);
  const joining = planInterconnect(config, selector, interconnect);
  // Policies that deny must be in force before the first route.
  const isEarly = interconnect === undefined && policies.writes.some(({ verb }) => verb !== 'delete');
  return {
    writes: [...policies.writes, ...(isEarly ? [] : joining.writes)],
    problems: [...policies.problems, ...joining.problems, ...unknown],
  };
}

/** Policies that deny go last, when nothing is left that they hold back. */
function leave({ interconnect, policies }: IcConfigState): readonly IcWrite[] {
  if (interconnect?.from === ovnIcConfig)
    return interconnect.isDeleting ? [] : [remove('Interconnect', 'default', interconnect.uid)];
  return closedPolicies.flatMap(([name]) => {
    const policy = policies.get(name);
    return policy?.from === ovnIcConfig ? [remove('RoutePolicy', name, policy.uid)] : [];
  });
}

function planPolicies({ isAutoRoute }: IcConfig, { policies }: IcConfigState): IcConfigPlan {
  const writes: IcWrite[] = [];
  const problems: Problem[] = [];
  for (const [name, spec] of closedPolicies) {
    const policy = policies.get(name);
    const isOurs = policy?.from === ovnIcConfig;
    if (isAutoRoute) {
      if (isOurs) writes.push(remove('RoutePolicy', name, policy.uid));
    } else if (policy === undefined) writes.push({ verb: 'create', kind: 'RoutePolicy', name, uid: undefined, spec });
    else if (!isOurs) {
      const message = `auto-route is false, but the RoutePolicy ${name} that would withhold routes was not created from this ConfigMap; its own rules apply instead`;
      problems.push({ code: 'RoutePolicyExists', message });
    } else if (!isSpec(policy.spec, spec)) {
      const patch = { transitSwitches: null, maxPrefixes: null, ...spec };
      writes.push({ verb: 'patch', kind: 'RoutePolicy', name, uid: policy.uid, spec: patch });
    }
  }
  return { writes, problems };
}

function planInterconnect(
  { clusterName, hub }: IcConfig,
  gatewayNodeSelector: LabelSelector,
  present: FollowingInterconnect | undefined,
): IcConfigPlan {
  const object = { kind: 'Interconnect', name: 'default' } as const;
  if (present === undefined) {
    const spec = { clusterName, hub, tokenSecretRef: { name: tokenSecret }, gatewayNodeSelector };
    return { writes: [{ ...object, verb: 'create', uid: undefined, spec }], problems: [] };
  }
  if (present.isDeleting) return { writes: [], problems: [] };
  const spec = {
    ...(present.clusterName === clusterName ? {} : { clusterName }),
    ...(present.hub === hub ? {} : { hub }),
    ...(isSameSelector(present.gatewayNodeSelector, gatewayNodeSelector)
      ? {}
      : { gatewayNodeSelector: { matchLabels: null, ...gatewayNodeSelector } }),
  };
  return {
    writes: Object.keys(spec).length === 0 ? [] : [{ ...object, verb: 'patch', uid: present.uid, spec }],
    problems: [],
  };
}

/** Labels are all that a selector sees; a node that is not there yet will most likely be labelled with its name. */
function gatewaysOf(
  { gateways }: IcConfig,
  { labelsOf }: IcConfigState,
): { readonly selector: LabelSelector; readonly unknown: readonly Problem[] } {
  const values = [...new Set(gateways.map((node) => labelsOf(node)?.[hostnameLabel] ?? node))].sort();
  const missing = gateways.filter((node) => labelsOf(node) === undefined);
  const message = `gw-nodes names ${missing.join(', ')}, but no such nodes exist in this cluster; correct it, or add them`;
  return {
    selector: { matchExpressions: [{ key: hostnameLabel, operator: 'In', values }] },
    unknown: missing.length === 0 ? [] : [{ code: 'NodeUnknown', message }],
  };
}

function remove(kind: IcWrite['kind'], name: string, uid: string): IcWrite {
  return { verb: 'delete', kind, name, uid, spec: {} };
}

function isSpec(present: RoutePolicySpec | Problem, wanted: RoutePolicySpec): boolean {
  return (
    !('code' in present) &&
    present.direction === wanted.direction &&
    present.priority === wanted.priority &&
    present.defaultAction === wanted.defaultAction &&
    present.rules.length === 0 &&
    present.transitSwitches === undefined
  );
}

function isSameSelector(a: LabelSelector, b: LabelSelector): boolean {
  return textOf(a) === textOf(b);
}

function textOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => [key, operator, [...values].sort()]);
  return JSON.stringify([Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1)), expressions]);
}
