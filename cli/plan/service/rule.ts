/**
 * Explains how a client reaches a SwitchLBRule: which backends it gets, by which rows of OVN, and what OVN's health checks found; otherwise
 * the obstacles. In: one reading, with the status that the controller writes. Out: values for rendering. Pure. What the spec means is read as
 * in the controller (`lib/services/switch-lb-rule.ts`).
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { backendKey, backendsOf } from '../../../lib/services/backends.ts';
import type { Service, ServicePort } from '../../../lib/services/service.ts';
import { isProblem, readRule, ruleServiceKey, ruleSlices } from '../../../lib/services/switch-lb-rule.ts';
import type {
  ReportedRule,
  RuleBackend,
  RuleReading,
  ServiceReading,
  Surroundings,
} from '../../model/service-reading.ts';
import {
  type AddressAnswer,
  areServed,
  balancerText,
  type Client,
  clientOf,
  clientProblems,
  shownConditions,
  type EndpointAnswer,
  endpointProblems,
  endpointsOf,
  familiesOf,
  nameOf,
  type ServiceWhy,
  splitByVpc,
  strangersOf,
} from './why.ts';
import { type HolderOf, holdersOf, isUp } from './holders.ts';
import { vpcOf } from './vpc.ts';

export function explainRule(reading: RuleReading): ServiceWhy {
  const { rule } = reading;
  const read = readRule(rule.object);
  const about = { service: ruleServiceKey(rule.object), rule: rule.object.name, type: 'ClusterIP' };
  const conditions = shownConditions(rule);
  // A refused rule has no Service, and EndpointSlices with that name are not its own.
  if (isProblem(read) || isRefused(rule)) {
    const { text } = clientOf(reading, defaultVpc);
    const nothing = { vpc: '', vpcFrom: '', client: text, isServed: false, addresses: [], endpoints: [] };
    return { ...about, ...nothing, conditions, problems: isProblem(read) ? [read] : statusProblems(rule) };
  }
  const all: ServiceReading = {
    ...reading,
    gate: undefined,
    service: read.service,
    slices: ruleSlices(read, reading.slices),
  };
  const { vpc, from } =
    rule.vpc === '' ? vpcOf(all) : { vpc: rule.vpc, from: `status of SwitchLBRule ${rule.object.name}` };
  const split = splitByVpc(all, vpc);
  const client = clientOf(reading, vpc);
  const obstacles = placeProblems(all, client, vpc);
  const ports = read.service.ports.map((port) => ({
    port,
    endpoints: familiesOf(read.service).flatMap((family) =>
      endpointsOf(read.service, port, backendsOf(split.reading.slices, port, family), client).map((one) =>
        checkedEndpoint(one, backendOf(rule, port, one.endpoint)),
      ),
    ),
    strangers: familiesOf(read.service).flatMap((family) =>
      strangersOf(all, port, backendsOf(split.strangers, port, family)),
    ),
  }));
  const holderOf = holdersOf(reading, { service: read.service, rule }, { vpc, at: 'ovn' });
  const addresses =
    obstacles.length > 0
      ? []
      : ports.flatMap(({ port, endpoints }) => addressesOf(rule, read.service, port, endpoints, vpc, holderOf));
  return {
    ...about,
    vpc,
    vpcFrom: from,
    client: client.text,
    isServed: areServed(addresses),
    addresses,
    endpoints: ports.flatMap(({ endpoints, strangers }) => [...endpoints, ...strangers]),
    conditions,
    problems: [
      ...obstacles,
      ...statusProblems(rule),
      ...endpointProblems(split.reading, client, split.strangers),
      ...ports.flatMap(({ port, endpoints }) => offlineProblems(port, endpoints)),
    ],
  };
}

/** Why no address of the rule can be reached from where the client is. */
function placeProblems(reading: Surroundings, client: Client, vpc: string): readonly Problem[] {
  const asked = reading.client;
  if (asked?.kind === 'node' || asked?.pod.isHostNetwork === true) {
    const message =
      'only pods reach the virtual address of a SwitchLBRule, and the client is a node or in its network: create a Service for it';
    return [{ code: 'OnlyPods', message }];
  }
  const problems = clientProblems(reading, client, vpc, 'SwitchLBRule');
  if (problems.length > 0 || client.at === 'ovn') return problems;
  const message = `Subnet ${asked?.pod.subnet ?? ''} has no load balancers (spec.enableLb), and nodes do not translate packets to a SwitchLBRule: enable them`;
  return [{ code: 'NoLoadBalancers', message }];
}

/** What the controller reports, or that it has not. */
function statusProblems({ conditions, generation }: ReportedRule): readonly Problem[] {
  const reported = conditions.filter(({ type }) => type === 'Ready' || type === 'Validated');
  if (reported.length === 0) {
    const message = 'the controller has not reported on the rule: see whether it runs';
    return [{ code: 'NotReported', message }];
  }
  const problems = reported
    .filter(({ status }) => status === 'False')
    .map(({ reason = '', message = '' }) => ({ code: reason, message }));
  if (reported.every(({ observedGeneration = 0 }) => observedGeneration >= generation)) return problems;
  const message = 'the status is that of a former spec: see whether the controller runs';
  return [...problems, { code: 'StatusOutdated', message }];
}

function isRefused({ conditions }: ReportedRule): boolean {
  return conditions.some(({ type, status }) => type === 'Validated' && status === 'False');
}

function backendOf({ backends }: ReportedRule, { protocol }: ServicePort, endpoint: string): RuleBackend | undefined {
  return backends.find((one) => one.protocol === protocol && backendKey(one.address, one.port) === endpoint);
}

/** The endpoint with the result of its health check, which decides whether it serves. */
function checkedEndpoint(answer: EndpointAnswer, backend: RuleBackend | undefined): EndpointAnswer {
  if (backend === undefined) return answer;
  const { state, reason } = backend;
  const checked = {
    ...answer,
    pod: answer.pod ?? backend.pod,
    check: { state, ...(reason === '' ? {} : { reason }) },
  };
  if (!answer.isServing || (state !== 'Offline' && state !== 'Error')) return checked;
  const why = state === 'Offline' ? 'it does not answer the health checks' : 'OVN could not send its health checks';
  return { ...checked, isServing: false, why };
}

function addressesOf(
  rule: ReportedRule,
  service: Service,
  port: ServicePort,
  endpoints: readonly EndpointAnswer[],
  vpc: string,
  holderOf: HolderOf,
): readonly AddressAnswer[] {
  return service.clusterIps.flatMap((address) => {
    const family = parseIp(address)?.family;
    if (family === undefined) return [];
    const through = isUp(rule, { address, port }) ? balancerText(service, port, family, vpc) : undefined;
    const holder = through === undefined ? holderOf(address, port) : undefined;
    const own = endpoints.filter(({ endpoint }) => endpoint.startsWith('[') === (family === 6));
    const isChecked = own.some(({ check }) => check !== undefined && check.state !== 'Unchecked');
    return [
      {
        kind: 'SwitchLBRule' as const,
        address,
        port: port.port,
        protocol: port.protocol,
        through,
        ...(holder === undefined ? {} : { holder }),
        endpoints:
          through === undefined ? [] : own.filter(({ isServing }) => isServing).map(({ endpoint }) => endpoint),
        ...(isChecked && through !== undefined
          ? { healthCheck: `Load_Balancer_Health_Check ${backendKey(address, port.port)}` }
          : {}),
      },
    ];
  });
}

function offlineProblems(port: ServicePort, endpoints: readonly EndpointAnswer[]): readonly Problem[] {
  const out = endpoints.filter(({ check }) => check?.state === 'Offline' || check?.state === 'Error');
  if (out.length === 0 || endpoints.some(({ isServing }) => isServing)) return [];
  const message = `none of the ${out.length} backends of port ${nameOf(port)} answers the health checks of OVN: connections are rejected until one does`;
  return [{ code: 'BackendsOffline', message }];
}
