/** The report of a rule: its headless Service, and its status with the state of each backend. */
import { annotation, lbRuleKinds } from '../../../lib/api/names.ts';
import { familyOf } from '../../../lib/net/ip.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { backendKey } from '../../../lib/services/backends.ts';
import { serviceKey, type RuleSpec, type Service } from '../../../lib/services/service.ts';
import { isOfRule, isProblem, readRule, ruleServiceKey, type ReadRule } from '../../../lib/services/switch-lb-rule.ts';
import { vipId, vipsOf } from '../../../lib/services/vips.ts';
import { lbRuleStores, type LbRule, type LbRuleStore } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { ruleProblem, ruleService } from '../../settle/service/frontends.ts';
import { obstacleConditions } from '../conditions.ts';
import { failure, refusalEvents } from '../events.ts';
import { pendingOf } from '../external/report.ts';
import { withoutFormer } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedCondition, WantedEvent } from '../report.ts';
import { takenVipProblems, vpcProblems } from '../service/report.ts';
import { outsideOf, servedRule } from './served.ts';
import { isOut, ruleBackends, type RuleBackend } from './backends.ts';
import type { UncheckedReason } from './health-check.ts';

/** The status lists at most this many backends, and a message names at most this many. */
const most = { listed: 128, named: 5 } as const;
const onlineType = 'BackendsOnline';

const causesOfUnchecked: Readonly<Record<UncheckedReason, string>> = {
  HealthChecksOff: `annotation ${annotation.healthCheck} is false`,
  SctpNotChecked: 'OVN cannot check over SCTP',
  NotAPod: 'no pod of the Vpc has the address',
  NoSource: 'the Subnet has no free address of that family for the source of checks',
};

function joined(problems: readonly Problem[]): Problem | undefined {
  const [first] = problems;
  return first && { code: first.code, message: problems.map(({ message }) => message).join('; ') };
}

/** What keeps the virtual address from being served although the spec is right. */
function placeProblem(view: View, rule: LbRule): Problem | undefined {
  const key = ruleServiceKey(rule);
  const verdict = view.serviceVerdicts.get(key);
  const outside = outsideOf(view, rule);
  const refusal = verdict?.refusal ?? outside?.obstacle;
  if (refusal !== undefined) return refusal;
  if (!view.capabilities.loadBalancers) {
    const message = 'load balancers are off in this cluster: start the controller with --enable-lb=true';
    return { code: 'NotSupported', message };
  }
  return joined([...vpcProblems(view, key, 'rule'), ...takenVipProblems(view, key)]);
}

/** Why the sources of health checks are missing. */
function sourceProblem(view: View, rule: LbRule): Problem | undefined {
  const { checked = {} } = view.serviceVerdicts.get(ruleServiceKey(rule)) ?? {};
  for (const subnet of new Set(Object.values(checked).map((place) => place.subnet))) {
    const problem = view.addressProblem(`health-check/${subnet}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function onlineCondition(view: View, rule: LbRule, backends: readonly RuleBackend[]): WantedCondition {
  const of = (status: 'True' | 'False' | 'Unknown', reason: string, message = ''): WantedCondition => ({
    type: onlineType,
    status,
    reason,
    message,
    observedGeneration: rule.generation,
  });
  if (backends.length === 0)
    return of('False', 'NoBackends', 'no ready endpoint: connections to the virtual address are rejected');
  const out = backends.filter(isOut);
  if (out.length > 0) {
    const named = out.slice(0, most.named).map(({ address, port, protocol, pod }) => {
      const text = `${protocol} ${backendKey(address, port)}`;
      return pod === undefined ? text : `${text} (pod ${pod})`;
    });
    const rest = out.length > most.named ? [`${out.length - most.named} more`] : [];
    const message = `${out.length} of ${backends.length} backends do not answer and get no connections: ${[...named, ...rest].join(', ')}`;
    return of('False', 'BackendsOffline', message);
  }
  if (backends.every(({ state }) => state === 'Online')) return of('True', 'AllOnline');
  if (backends.some(({ state }) => state === 'Pending'))
    return of('Unknown', 'Pending', 'health checks have no result yet');
  const source = sourceProblem(view, rule);
  if (source !== undefined) return of('Unknown', source.code, `no source for health checks: ${source.message}`);
  return of('Unknown', 'Unchecked', uncheckedMessage(backends));
}

function uncheckedMessage(backends: readonly RuleBackend[]): string {
  const counts = new Map<UncheckedReason, number>();
  for (const { reason } of backends) if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const causes = [...counts].map(([reason, count]) => `${causesOfUnchecked[reason]} (${count})`).sort();
  return `OVN does not check ${all} of ${backends.length} backends, which get connections in any case: ${causes.join(', ')}`;
}

/** Those that get no connections come first where not all fit. */
function listed(backends: readonly RuleBackend[]): readonly RuleBackend[] {
  if (backends.length <= most.listed) return backends;
  return backends.toSorted((a, b) => Number(isOut(b)) - Number(isOut(a))).slice(0, most.listed);
}

/** Virtual addresses with ports that no load balancer has: `1.1.1.1:80/TCP`. */
function unservedVips(view: View, service: Service, isServed: boolean): readonly string[] {
  const { takenVips = {} } = view.serviceVerdicts.get(serviceKey(service)) ?? {};
  return vipsOf(service, view.capabilities)
    .filter((vip) => !isServed || takenVips[vipId(vip)] !== undefined)
    .map(({ address, port }) => `${backendKey(address, port.port)}/${port.protocol}`);
}

/** Of a RouterLBRule: the addresses outside that are served. */
function outsideFields(view: View, rule: LbRule): Readonly<Record<string, string | null>> {
  if (rule.kind === 'SwitchLBRule') return {};
  const { outside = [] } = servedRule(view, rule)?.outside ?? {};
  const of = (family: 4 | 6): string | null => outside.find((ip) => familyOf(ip) === family) ?? null;
  return { v4Eip: of(4), v6Eip: of(6) };
}

/** Backends that another rule keeps from being served. */
function leftOutText(view: View, rule: LbRule): string {
  const left = Object.entries(outsideOf(view, rule)?.leftOut ?? {});
  if (left.length === 0) return '';
  const named = left.slice(0, most.named).map(([address, why]) => `${address} (${why})`);
  const rest = left.length > most.named ? ` and ${left.length - most.named} more` : '';
  return `backends that get no connections: ${named.join(', ')}${rest}`;
}

function statusFields(view: View, rule: LbRule, read: ReadRule, backends: readonly RuleBackend[] | undefined) {
  const key = ruleServiceKey(rule);
  const unserved = unservedVips(view, ruleService(view, rule, read), backends !== undefined);
  const all = backends ?? [];
  const known = { total: all.length, online: all.filter((backend) => !isOut(backend)).length, backends: listed(all) };
  return {
    ports: read.ports.map(({ port, protocol }) => `${port}/${protocol}`).join(','),
    service: key,
    vpc: view.serviceVerdicts.get(key)?.vpc ?? null,
    ...outsideFields(view, rule),
    unserved: unserved.length === 0 ? null : unserved,
    // Until the southbound database is known, the states of a former process stay.
    ...(view.monitors === undefined ? {} : known),
  };
}

/** Labels that the selector of the Service has beside those of the rule are removed. */
function serviceReport(view: View, rule: LbRule, read: ReadRule): ObjectReport {
  const { label, vipAnnotation } = lbRuleKinds[rule.kind];
  const key = ruleServiceKey(rule);
  const former = view.services.get(key)?.ruleSpec?.selector ?? {};
  const gone = Object.keys(former).filter((name) => read.selector[name] === undefined);
  const spec: RuleSpec = {
    selector: { ...read.selector, ...Object.fromEntries(gone.map((name) => [name, null])) },
    ports: read.ports.map(({ name, protocol, port, target }) => ({
      ...(name === '' ? {} : { name }),
      protocol,
      port,
      targetPort: target,
    })),
    sessionAffinity: read.service.affinitySeconds === undefined ? 'None' : 'ClientIP',
  };
  return {
    object: { kind: 'services', name: key },
    presence: 'required',
    labels: { [label]: rule.name },
    annotations: { [vipAnnotation]: ruleService(view, rule, read).clusterIps.join(',') },
    spec: { ...spec },
    initialSpec: { type: 'ClusterIP', clusterIP: 'None', ipFamilyPolicy: 'PreferDualStack' },
  };
}

/** Services that a rule made and does not have any more. */
function* formerServices(
  view: View,
  store: LbRuleStore,
  name: string,
  kept: string | undefined,
): Generator<ObjectReport> {
  const { prefix } = lbRuleKinds[lbRuleStores[store]];
  for (const key of view.indexes.servicesByRule[store].of(name)) {
    const service = view.services.get(key);
    if (key !== kept && service !== undefined && isOfRule(service) && service.name === prefix + name)
      yield { object: { kind: 'services', name: key }, presence: 'forbidden' };
  }
}

function onlineEvents({ conditions }: LbRule, online: WantedCondition): readonly WantedEvent[] {
  const before = conditions.find(({ type }) => type === onlineType);
  if (online.reason !== 'BackendsOffline' || before?.message === online.message) return [];
  return [{ type: 'Warning', reason: 'BackendsOffline', message: online.message ?? '' }];
}

export function reportRule(view: View, store: LbRuleStore, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: store, name } as const;
  const rule = view[store].get(name);
  if (rule === undefined) return [{ object }, ...formerServices(view, store, name, undefined)];
  if (rule.isDeleting)
    return [{ object, finalizers: withoutFormer(rule.finalizers) }, ...formerServices(view, store, name, undefined)];
  const read = readRule(rule);
  const outside = outsideOf(view, rule);
  const problem = ruleProblem(view, rule) ?? outside?.refusal;
  if (isProblem(read) || problem !== undefined) {
    const conditions = obstacleConditions(rule.generation, problem, undefined, 'RuleReady');
    const events = refusalEvents(`Validate${rule.kind}Failed`, conditions, rule.conditions);
    const fields = {
      ports: null,
      service: null,
      vpc: null,
      ...outsideFields(view, rule),
      unserved: null,
      total: null,
      online: null,
      backends: null,
    };
    const status = { fields, conditions, absentConditions: [onlineType], events };
    // A Service that the rule has elsewhere is of its former namespace.
    return [{ object, status }, ...formerServices(view, store, name, ruleServiceKey(rule))];
  }
  const obstacle = placeProblem(view, rule);
  const served = servedRule(view, rule);
  // A new port has no holder for a moment, which is no event.
  const pending = served?.outside && pendingOf(view, served.outside, rule);
  const backends = served && ruleBackends(view, rule, served);
  const online = view.monitors && backends && onlineCondition(view, rule, backends);
  const conditions = [
    ...obstacleConditions(
      rule.generation,
      undefined,
      refusalOf(outcome) ?? obstacle ?? pending,
      'RuleReady',
      leftOutText(view, rule),
    ),
    ...(online === undefined ? [] : [online]),
  ];
  const ready = rule.conditions.find(({ type }) => type === 'Ready');
  const isNew = obstacle !== undefined && ready?.message !== obstacle.message;
  const events = [
    ...(isNew ? [failure(`Serve${rule.kind}Failed`, obstacle)] : []),
    ...(online === undefined ? [] : onlineEvents(rule, online)),
  ];
  const fields = statusFields(view, rule, read, backends);
  const absent = backends === undefined ? { absentConditions: [onlineType] } : {};
  return [
    { object, status: { fields, conditions, ...absent, events, rateLimit: 'all' } },
    serviceReport(view, rule, read),
    ...formerServices(view, store, name, ruleServiceKey(rule)),
  ];
}
