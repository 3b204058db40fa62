/**
 * SwitchLBRules: virtual addresses of a VPC. In: the rule, the EndpointSlices of its Service, the verdict on both. Out: load balancers in the
 * group of the VPC as those of Services, with health checks; a headless Service, and the state of each backend.
 */
import { allOf } from '../../../lib/desired/few.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { backendsOf, clusterBackends } from '../../../lib/services/backends.ts';
import { serviceKey, type Service } from '../../../lib/services/service.ts';
import { ruleNameAt } from '../../../lib/services/switch-lb-rule.ts';
import { label } from '../../../lib/api/names.ts';
import { monitoredPort } from '../../model/monitors.ts';
import type { SwitchLbRule } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { ruleAt } from '../../settle/service/frontends.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { balancerKey, balancerRow, reachedSlices, type Balancer } from '../service/balancers.ts';
import { groupMembership } from '../service/group.ts';
import { healthCheckRows, mappingsOf } from './health-check.ts';
import { reportRule } from './report.ts';
import { servedRule } from './served.ts';

/** Of the keys of ports that are sources of health checks. */
const sourcePrefix = 'health-check/';

/** The row of a load balancer with its health checks. */
function rowsOf(view: View, rule: SwitchLbRule, service: Service, balancer: Balancer): readonly DesiredRow[] {
  const row = balancerRow(view, service, balancer);
  const slices = reachedSlices(view, serviceKey(service));
  const backends = service.ports.flatMap((port) => clusterBackends(backendsOf(slices, port, balancer.family)));
  const mappings = mappingsOf(view, rule, balancer, backends);
  const checks = Object.keys(mappings).length === 0 ? [] : healthCheckRows(row.key, Object.keys(balancer.vips));
  return [{ ...row, columns: { ...row.columns, ip_port_mappings: mappings } }, ...checks];
}

function planRule(view: View, name: string): Desired {
  const rule = view.switchLbRules.get(name);
  const served = servedRule(view, rule);
  if (rule === undefined || served === undefined) return nothing;
  const { service, vpc, balancers } = served;
  const keys = balancers.map((balancer) => balancerKey(service, balancer));
  return {
    rows: balancers.flatMap((balancer) => rowsOf(view, rule, service, balancer)),
    contributions: [groupMembership(vpc, keys)],
    createdMs: rule.createdMs,
  };
}

function* namesAt(view: View, services: Iterable<string>): Generator<string> {
  for (const service of services) {
    const rule = ruleAt(view, service);
    if (rule !== undefined) yield rule.name;
  }
}

/** The rule that made a Service. */
function ownersOf(service: Service | undefined): readonly string[] {
  const owner = service?.labels[label.switchLbRule];
  return owner === undefined ? [] : [owner];
}

/** Keys: the rule. Those of rules that are gone are planned as long as they have a Service. */
export const switchLbRuleFeature: Feature = {
  name: 'switch-lb-rule',
  all: (view) => new Set([...view.switchLbRules.keys(), ...view.indexes.servicesByRule.keys()]),
  *reads(change, view) {
    if (change.kind === 'switchLbRules') yield change.name;
    else if (change.kind === 'services') {
      for (const service of [change.before, change.after]) yield* ownersOf(service);
      yield* namesAt(view, [change.name]);
    } else if (change.kind === 'serviceVerdicts') {
      const name = ruleNameAt(change.name) ?? '';
      if (view.switchLbRules.has(name)) yield name;
    } else if (change.kind === 'endpointSlices')
      yield* namesAt(view, [change.before?.service ?? '', change.after?.service ?? '']);
    else if (change.kind === 'namespaces') {
      if (change.before?.isDeleting !== change.after?.isDeleting) yield* view.indexes.rulesByNamespace.of(change.name);
    } else if (change.kind === 'ports' && change.name.startsWith(sourcePrefix))
      yield* namesAt(view, allOf(view.healthChecks.bySubnet.get(change.name.slice(sourcePrefix.length))));
    else if (change.kind === 'monitors') {
      if (change.name === '') yield* view.switchLbRules.keys();
      else yield* namesAt(view, allOf(view.healthChecks.byPort.get(monitoredPort(change.name))));
    }
  },
  plan: planRule,
  report: reportRule,
};
