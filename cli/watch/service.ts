/**
 * Reads the objects that decide how a client reaches one Service. In: a client of the API, the names of the Service and of its client. Out: a ServiceReading.
 * @throws CommandFailed if the Service or the client does not exist; KubeUnreachable, KubeApiError, or the timeout's TimeoutError
 */
import { annotation, defaultVpc } from '../../lib/api/names.ts';
import { fieldsOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import {
  daemonSets,
  deployments,
  endpointSlices,
  keyOf,
  nodes,
  pods,
  services,
  subnets,
} from '../../lib/kube/resources.ts';
import type { ObjectName, RawObject } from '../../lib/kube/types.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import type {
  ServiceClient,
  ServiceNode,
  ServicePod,
  ServiceReading,
  ServiceSettings,
  ServiceSubnet,
} from '../model/service-reading.ts';
import { type Cluster, type ClusterFlags, withCluster } from './cluster.ts';
import { argumentOf, findObject } from './workload.ts';

const serviceLabel = 'kubernetes.io/service-name';
const zoneLabel = 'topology.kubernetes.io/zone';

/** The client by kind and name. */
export interface ClientName extends ObjectName {
  readonly kind: 'pod' | 'node';
}

export function readService(
  name: ObjectName & { readonly namespace: string },
  from: ClientName | undefined,
  flags: ClusterFlags,
  terminal: Terminal,
): Promise<ServiceReading> {
  return withCluster(flags, terminal, async ({ client, namespace }) => {
    const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
    const own = { namespace: name.namespace, signal };
    const [raw, slices, workloads, machines, networks, settings, peer] = await Promise.all([
      findObject(client, services, name, signal),
      client.list(endpointSlices, { ...own, labelSelector: `${serviceLabel}=${name.name}` }),
      client.list(pods, own),
      client.list(nodes, { signal }),
      client.list(subnets, { signal }),
      readSettings({ client, namespace, signal }),
      from === undefined ? undefined : findObject(client, from.kind === 'pod' ? pods : nodes, from, signal),
    ]);
    if (raw === undefined) throw missing('service', name);
    if (from !== undefined && peer === undefined) throw missing(from.kind, from);
    return {
      service: parseService(raw),
      slices: slices.map(parseEndpointSlice),
      pods: new Map(workloads.map((one) => [keyOf(one.metadata), parsePod(one)])),
      nodes: new Map(machines.map((one) => [one.metadata.name, parseNode(one)])),
      subnets: new Map(networks.map((one) => [one.metadata.name, parseSubnet(one)])),
      settings,
      client: from === undefined || peer === undefined ? undefined : clientOf(from, peer),
    };
  });
}

interface Api extends Pick<Cluster, 'client' | 'namespace'> {
  readonly signal: AbortSignal;
}

function missing(kind: string, name: ObjectName): CommandFailed {
  const where = name.namespace === undefined ? '' : ` -n ${name.namespace}`;
  const message = `there is no ${kind} ${keyOf(name)}; kubectl get ${kind}s${where} lists them`;
  return new CommandFailed({ code: `NoSuch${kind[0]?.toUpperCase() ?? ''}${kind.slice(1)}`, message });
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

export function parsePod(raw: RawObject): ServicePod {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  const { annotations = {} } = raw.metadata;
  return {
    key: keyOf(raw.metadata),
    node: textOf(spec['nodeName']),
    isHostNetwork: spec['hostNetwork'] === true,
    vpc: annotations[annotation.logicalRouter] ?? '',
    subnet: annotations[annotation.logicalSwitch] ?? '',
    addresses: recordsOf(status['podIPs']).map(({ ip }) => textOf(ip)),
  };
}

export function parseNode(raw: RawObject): ServiceNode {
  const addresses = recordsOf(fieldsOf(raw['status'])['addresses']);
  return {
    name: raw.metadata.name,
    zone: raw.metadata.labels?.[zoneLabel] ?? '',
    addresses: addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => textOf(address)),
  };
}

export function parseSubnet(raw: RawObject): ServiceSubnet {
  const spec = fieldsOf(raw['spec']);
  return { vpc: textOf(spec['vpc']) || defaultVpc, hasLoadBalancers: spec['enableLb'] !== false };
}
