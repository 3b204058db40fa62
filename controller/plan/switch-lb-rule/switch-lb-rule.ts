/**
 * SwitchLBRules: virtual addresses of a VPC. RouterLBRules: the same at an address outside, in load balancers of the router. In: the rule, the EndpointSlices of its Service, the verdict on both. Out: load balancers in the
 * group of the VPC as those of Services, with health checks; a headless Service, and the state of each backend.
 */
import { allOf } from '../../../lib/desired/few.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { backendsOf, clusterBackends } from '../../../lib/services/backends.ts';
import { serviceKey, type Service } from '../../../lib/services/service.ts';
import { ruleNameAt } from '../../../lib/services/switch-lb-rule.ts';
import { ovnProtocols } from '../../../lib/services/vips.ts';
import { lbRuleKinds } from '../../../lib/api/names.ts';
import { monitoredPort } from '../../model/monitors.ts';
import type { Change } from '../../model/change.ts';
import { lbRuleStores, type LbRule, type LbRuleStore } from '../../model/objects.ts';
import type { ExternalRule } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleAt } from '../../settle/service/frontends.ts';
import { togetherWith } from '../external/gateway-port.ts';
import { wayOutRows } from '../external/rule-rows.ts';
import { verdictsReading } from '../external/rules.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority } from '../names.ts';
import { balancerKey, balancerRow, reachedSlices, type Balancer } from '../service/balancers.ts';
import { groupMembership, routerMembership } from '../service/group.ts';
import { healthCheckRows, mappingsOf } from './health-check.ts';
import { reportRule } from './report.ts';
import { servedRule } from './served.ts';

/** Of the keys of ports that are sources of health checks. */
const sourcePrefix = 'health-check/';

/** The row of a load balancer with its health checks. */
function rowsOf(view: View, rule: LbRule, service: Service, balancer: Balancer): readonly DesiredRow[] {
  const row = balancerRow(view, service, balancer);
  const slices = reachedSlices(view, serviceKey(service));
  const backends = service.ports.flatMap((port) => clusterBackends(backendsOf(slices, port, balancer.family)));
  const mappings = mappingsOf(view, rule, balancer, backends);
  const checks = Object.keys(mappings).length === 0 ? [] : healthCheckRows(row.key, Object.keys(balancer.vips));
  return [{ ...row, columns: { ...row.columns, ip_port_mappings: mappings } }, ...checks];
}

/** Replies from backends leave by the Subnet outside of the rule's address. */
function wayRows(name: string, service: Service, view: View, rule: ExternalRule): readonly DesiredRow[] {
  const pairs = new Map(rule.pairs.map((pair) => [pair.inside, pair]));
  const slices = reachedSlices(view, serviceKey(service));
  const ways = new Map<string, DesiredRow>();
  for (const family of [4, 6] as const)
    for (const servicePort of service.ports)
      for (const { address, port } of backendsOf(slices, servicePort, family)) {
        const pair = pairs.get(address);
        if (pair === undefined) continue;
        const protocol = ovnProtocols[servicePort.protocol];
        const source = `${matchFamily(family)}.src == ${address} && ${protocol}.src == ${port}`;
        const key = `rlr/${name}/${protocol}/${port}/${address}`;
        for (const row of wayOutRows(key, rule, pair, { source, priority: policyPriority.externalReply }))
          ways.set(row.key, row);
      }
  return [...ways.values()];
}

function planRule(view: View, store: LbRuleStore, name: string): Desired {
  const rule = view[store].get(name);
  const served = servedRule(view, rule);
  if (rule === undefined || served === undefined) return nothing;
  const { service, vpc, balancers, outside } = served;
  const keys = balancers.map((balancer) => balancerKey(service, balancer));
  const rows = balancers.flatMap((balancer) => rowsOf(view, rule, service, balancer));
  const { createdMs } = rule;
  if (outside === undefined) return { rows, contributions: [groupMembership(vpc, keys)], createdMs };
  return {
    rows: [...rows, ...wayRows(name, service, view, outside)],
    contributions: [routerMembership(vpc, keys)],
    createdMs,
    together: togetherWith(outside),
  };
}

function* namesAt(view: View, store: LbRuleStore, services: Iterable<string>): Generator<string> {
  for (const service of services) {
    const rule = ruleAt(view, service);
    if (rule?.kind === lbRuleStores[store]) yield rule.name;
  }
}

/** The rule that made a Service. */
function ownersOf(service: Service | undefined, store: LbRuleStore): readonly string[] {
  const owner = service?.labels[lbRuleKinds[lbRuleStores[store]].label];
  return owner === undefined ? [] : [owner];
}

function* reading(change: Change, view: View, store: LbRuleStore): Generator<string> {
  if (change.kind === store) yield change.name;
  else if (change.kind === 'services') {
    for (const service of [change.before, change.after]) yield* ownersOf(service, store);
    yield* namesAt(view, store, [change.name]);
  } else if (change.kind === 'serviceVerdicts') {
    const name = ruleNameAt(change.name, lbRuleStores[store]) ?? '';
    if (view[store].has(name)) yield name;
  } else if (change.kind === 'endpointSlices')
    yield* namesAt(view, store, [change.before?.service ?? '', change.after?.service ?? '']);
  else if (change.kind === 'namespaces') {
    if (change.before?.isDeleting !== change.after?.isDeleting)
      yield* view.indexes.rulesByNamespace[store].of(change.name);
  } else if (change.kind === 'ports' && change.name.startsWith(sourcePrefix))
    yield* namesAt(view, store, allOf(view.healthChecks.bySubnet.get(change.name.slice(sourcePrefix.length))));
  else if (change.kind === 'monitors') {
    if (change.name === '') yield* view[store].keys();
    else yield* namesAt(view, store, allOf(view.healthChecks.byPort.get(monitoredPort(change.name))));
  }
}

/** Keys: the rule. Those of rules that are gone are planned as long as they have a Service. */
function featureOf(store: LbRuleStore, name: string, reads: Feature['reads']): Feature {
  return {
    name,
    all: (view) => new Set([...view[store].keys(), ...view.indexes.servicesByRule[store].keys()]),
    reads,
    plan: (view, id) => planRule(view, store, id),
    report: (view, id, outcome) => reportRule(view, store, id, outcome),
  };
}

export const switchLbRuleFeature = featureOf('switchLbRules', 'switch-lb-rule', (change, view) =>
  reading(change, view, 'switchLbRules'),
);

export const routerLbRuleFeature = featureOf('routerLbRules', 'router-lb-rule', function* reads(change, view) {
  yield* reading(change, view, 'routerLbRules');
  if (change.kind === 'externalRules' || change.kind === 'gatewayHolders')
    yield* verdictsReading(change, view, 'routerLbRules');
});
