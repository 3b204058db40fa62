/**
 * Reads the objects that decide how a client reaches one Service or SwitchLBRule. In: a client of the API, the names of the object and of its
 * client. Out: a ServiceReading, or a RuleReading for a rule and for the Service that a rule made.
 * @throws CommandFailed if the object or the client does not exist; KubeUnreachable, KubeApiError, or the timeout's TimeoutError
 */
import { lbRuleKinds, servedCondition } from '../../lib/api/names.ts';
import {
  daemonSets,
  deployments,
  endpointSlices,
  keyOf,
  nodes,
  pods,
  services,
  subnets,
  switchLbRules,
} from '../../lib/kube/resources.ts';
import type { ObjectName, RawObject } from '../../lib/kube/types.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import type { Service } from '../../lib/services/service.ts';
import {
  isOfRule,
  isProblem,
  readRule as readSpec,
  ruleNameAt,
  ruleServiceKey,
} from '../../lib/services/switch-lb-rule.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import type {
  ReportedRule,
  RuleReading,
  ServiceClient,
  ServiceReading,
  ServiceSettings,
  Surroundings,
} from '../model/service-reading.ts';
import { type Cluster, type ClusterFlags, withCluster } from './cluster.ts';
import { readGate } from './gate.ts';
import { missing } from './missing.ts';
import { readRivals } from './rivals.ts';
import { parseNode, parsePod, parseRule, parseSubnet } from './service-objects.ts';
import { argumentOf, findObject } from './workload.ts';

const serviceLabel = 'kubernetes.io/service-name';

/** The client by kind and name. */
export interface ClientName extends ObjectName {
  readonly kind: 'pod' | 'node';
}

type ServiceName = ObjectName & { readonly namespace: string };

export function readService(
  name: ServiceName,
  from: ClientName | undefined,
  flags: ClusterFlags,
  terminal: Terminal,
): Promise<ServiceReading | RuleReading> {
  return withApi(flags, terminal, async (api) => {
    const [raw, rule] = await Promise.all([findObject(api.client, services, name, api.signal), findRuleOf(api, name)]);
    const service = raw && parseService(raw);
    // Another Service with the name of a rule's is explained as what it is.
    if (rule !== undefined && (service === undefined || isOfRule(service)))
      return { rule, ...(await readSurroundings(api, name, from, contestedOf(rule))) };
    if (service === undefined) throw missing('service', name);
    const contested = isReportedUnserved(service) ? service : undefined;
    const surroundings = await readSurroundings(api, name, from, contested);
    const { client } = surroundings;
    const gate = client?.kind === 'pod' ? await readGate(api, service, client.pod.vpc) : undefined;
    return { service, gate, ...surroundings };
  });
}

export function readRule(
  name: string,
  from: ClientName | undefined,
  flags: ClusterFlags,
  terminal: Terminal,
): Promise<RuleReading> {
  return withApi(flags, terminal, async (api) => {
    const raw = await findObject(api.client, switchLbRules, { name }, api.signal);
    if (raw === undefined) throw missing('switch-lb-rule', { name });
    const rule = parseRule(raw);
    const { namespace } = rule.object.spec;
    const service = { namespace, name: lbRuleKinds.SwitchLBRule.prefix + name };
    return { rule, ...(await readSurroundings(api, service, from, contestedOf(rule))) };
  });
}

function withApi<T>(flags: ClusterFlags, terminal: Terminal, read: (api: Api) => Promise<T>): Promise<T> {
  return withCluster(flags, terminal, ({ client, namespace }) => {
    const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
    return read({ client, namespace, signal });
  });
}

/** The rule that has or would have the Service. */
async function findRuleOf({ client, signal }: Api, service: ServiceName): Promise<ReportedRule | undefined> {
  const key = keyOf(service);
  const name = ruleNameAt(key);
  const raw = name === undefined ? undefined : await findObject(client, switchLbRules, { name }, signal);
  const rule = raw && parseRule(raw);
  return rule !== undefined && ruleServiceKey(rule.object) === key ? rule : undefined;
}

/** The reason of the condition is only that of the first problem, so that any may be about an address. */
function isReportedUnserved({ conditions }: Service): boolean {
  return conditions.some(({ type, status }) => type === servedCondition && status === 'False');
}

/** The rule as a Service, if it lacks virtual addresses. */
function contestedOf({ object, unserved }: ReportedRule): Service | undefined {
  const read = unserved.length === 0 ? undefined : readSpec(object);
  return read === undefined || isProblem(read) ? undefined : read.service;
}

/** @param contested has addresses that other objects may have instead, which costs several more requests */
async function readSurroundings(
  api: Api,
  name: ServiceName,
  from: ClientName | undefined,
  contested: Service | undefined,
): Promise<Surroundings> {
  const { client, signal } = api;
  const own = { namespace: name.namespace, signal };
  const [slices, workloads, machines, networks, settings, peer] = await Promise.all([
    client.list(endpointSlices, { ...own, labelSelector: `${serviceLabel}=${name.name}` }),
    client.list(pods, own),
    client.list(nodes, { signal }),
    client.list(subnets, { signal }),
    readSettings(api),
    from === undefined ? undefined : findObject(client, from.kind === 'pod' ? pods : nodes, from, signal),
  ]);
  if (from !== undefined && peer === undefined) throw missing(from.kind, from);
  return {
    slices: slices.map(parseEndpointSlice),
    pods: new Map(workloads.map((one) => [keyOf(one.metadata), parsePod(one)])),
    nodes: new Map(machines.map((one) => [one.metadata.name, parseNode(one)])),
    subnets: new Map(networks.map((one) => [one.metadata.name, parseSubnet(one)])),
    settings,
    client: from === undefined || peer === undefined ? undefined : clientOf(from, peer),
    rivals: contested && (await readRivals(api, contested, settings)),
  };
}

interface Api extends Pick<Cluster, 'client' | 'namespace'> {
  readonly signal: AbortSignal;
}

/** The arguments of the installed programs. */
async function readSettings({ client, namespace, signal }: Api): Promise<ServiceSettings> {
  const [controller, daemon] = await Promise.all([
    findObject(client, deployments, { namespace, name: 'isthmus-controller' }, signal),
    findObject(client, daemonSets, { namespace, name: 'isthmus-daemon' }, signal),
  ]);
  return {
    balancesInOvn: controller && argumentOf(controller, 'enable-lb') !== 'false',
    nodesServe: daemon && argumentOf(daemon, 'services') === 'on',
    allowsExternalIps: controller && argumentOf(controller, 'external-ips') === 'Allow',
  };
}

function clientOf({ kind }: ClientName, raw: RawObject): ServiceClient {
  return kind === 'pod' ? { kind, pod: parsePod(raw) } : { kind, node: parseNode(raw) };
}
