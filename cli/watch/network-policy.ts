/**
 * Reads what policies say about a connection. In: a client of the API, the names of both ends. Out: a PolicyReading.
 * @throws CommandFailed if a pod or node does not exist; KubeUnreachable, KubeApiError, or the timeout's TimeoutError
 */
import { annotation, defaultVpc } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { fieldsOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import { keyOf, namespaces, networkPolicies, nodes, pods } from '../../lib/kube/resources.ts';
import type { KubeClient, ObjectName, RawObject } from '../../lib/kube/types.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import { namedPortsOf, parsePolicyRules } from '../../lib/policies/parse.ts';
import type { RemoteMember } from '../../lib/policies/judge.ts';
import { remotePeersOf } from '../../lib/policies/remote-peers.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import type { TraceReading } from '../model/ovn-trace.ts';
import type { PolicyHost, PolicyNode, PolicyReading } from '../model/policy-reading.ts';
import { printable, readClusterPolicies } from './cluster-policies.ts';
import { type ClusterFlags, withCluster } from './cluster.ts';
import { missing } from './missing.ts';
import { readRemotePods, noMembers } from './remote-pods.ts';
import { localTools, podTools, type OvnTools } from './ovn-tools.ts';
import { readTrace, type TracedConnection } from './ovn-trace.ts';
import { findObject } from './workload.ts';

/** A pod, a node, or any other host by its address. */
export type HostName =
  | (ObjectName & { readonly kind: 'pod' | 'node' })
  | { readonly kind: 'address'; readonly address: string };

export interface PolicyQuestion {
  readonly from: HostName;
  readonly to: HostName;
  readonly port: PolicyReading['port'];
  /** Whether OVN is asked, too. */
  readonly isTraced: boolean;
  /** Remotes of the southbound database; empty to ask it in its pod. */
  readonly sb: readonly string[];
}

export function readPolicies(
  { from: fromName, to: toName, port, isTraced, sb }: PolicyQuestion,
  flags: ClusterFlags,
  terminal: Terminal,
): Promise<PolicyReading> {
  return withCluster(flags, terminal, async ({ client, exec, namespace }) => {
    const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
    const [source, destination, listed] = await Promise.all([
      readHost(client, fromName, signal),
      readHost(client, toName, signal),
      client.list(networkPolicies, { signal }),
    ]);
    const policies = new Map(listed.map((one) => [keyOf(one.metadata), parsePolicyRules(one)]));
    const namespaces = [source, destination].map(({ pod }) => pod?.namespace);
    const own = [...policies.values()].filter(({ namespace }) => namespaces.includes(namespace));
    const ofCluster = await readClusterPolicies(client, signal, own);
    const all = [...policies.values(), ...ofCluster.cluster.policies.values()];
    const sets = all.some((one) => remotePeersOf(one).length > 0)
      ? await readRemotePods(client, signal)
      : { members: noMembers, unread: [] };
    const [from, to] = [source, destination].map((host) => withRemote(host, sets.members)) as [PolicyHost, PolicyHost];
    const connection = { from, to, port };
    const reported = new Map([...ofCluster.reported, ...listed.flatMap(reportOf)]);
    const toolsOf = () =>
      sb.length > 0 ? localTools(sb, terminal.env, signal) : podTools({ client, exec, namespace, signal });
    const unread = [...ofCluster.unread, ...sets.unread];
    const reading = { ...ofCluster, ...connection, policies, reported, unread };
    return isTraced ? { ...reading, ovn: await traceWith(await toolsOf(), connection) } : reading;
  });
}

/** An address that other clusters have sent as one of their pods: its text names them. */
function withRemote(host: PolicyHost, members: ReadonlyMap<string, readonly RemoteMember[]>): PolicyHost {
  if (host.pod !== undefined || host.node !== undefined) return host;
  const remote = host.sources.flatMap((address) => members.get(address) ?? []);
  const clusters = [...new Set(remote.map(({ cluster }) => cluster))].sort();
  return clusters.length === 0
    ? host
    : { ...host, remote, text: `${host.text}, a pod of cluster ${clusters.join(', ')}` };
}

async function traceWith(tools: OvnTools | Problem, connection: TracedConnection): Promise<TraceReading> {
  return 'run' in tools ? readTrace(tools, connection) : { untraced: tools };
}

/** What the controller writes to a NetworkPolicy of which a part has no effect. */
function reportOf({ metadata }: RawObject): readonly (readonly [name: string, message: string])[] {
  const message = metadata.annotations?.[annotation.problem];
  return message === undefined ? [] : [[keyOf(metadata), printable(message)]];
}

async function readHost(client: KubeClient, name: HostName, signal: AbortSignal): Promise<PolicyHost> {
  if (name.kind === 'address') {
    const addresses = canonical(name.address);
    return { text: name.address, pod: undefined, node: undefined, sources: addresses, destinations: addresses };
  }
  const raw = await findObject(client, name.kind === 'pod' ? pods : nodes, name, signal);
  if (raw === undefined) throw missing(name.kind, name);
  if (name.kind === 'node') return nodeHost(parseNode(raw));
  const node = textOf(fieldsOf(raw['spec'])['nodeName']);
  const [namespace, machine] = await Promise.all([
    findObject(client, namespaces, { name: name.namespace ?? '' }, signal),
    node === '' ? undefined : findObject(client, nodes, { name: node }, signal),
  ]);
  return parsePod(raw, namespace?.metadata.labels ?? {}, machine && parseNode(machine));
}

export function parseNode(raw: RawObject): PolicyNode {
  const { name, annotations } = raw.metadata;
  const reported = recordsOf(fieldsOf(raw['status'])['addresses']).filter(({ type }) => type === 'InternalIP');
  return {
    name,
    joinAddresses: allocated(annotations),
    addresses: reported.flatMap(({ address }) => canonical(textOf(address))),
  };
}

/** A node sends to pods from its address in the Subnet join. */
export function nodeHost(node: PolicyNode): PolicyHost {
  const { name, joinAddresses, addresses } = node;
  return { text: `node ${name}`, pod: undefined, node, sources: joinAddresses, destinations: addresses };
}

export function parsePod(
  raw: RawObject,
  namespaceLabels: Readonly<Record<string, string>>,
  node: PolicyNode | undefined,
): PolicyHost {
  const spec = fieldsOf(raw['spec']);
  const { metadata } = raw;
  const reported = recordsOf(fieldsOf(raw['status'])['podIPs']).flatMap(({ ip }) => canonical(textOf(ip)));
  // The kubelet reports addresses once the pod runs.
  const addresses = reported.length > 0 ? reported : allocated(metadata.annotations);
  const text = `pod ${keyOf(metadata)}`;
  if (spec['hostNetwork'] === true) {
    const [sources, destinations] = [node?.joinAddresses ?? [], node?.addresses ?? addresses];
    return { text: `${text}, in the network of its node`, pod: undefined, node, sources, destinations };
  }
  return {
    text,
    node,
    sources: addresses,
    destinations: addresses,
    pod: {
      name: metadata.name,
      namespace: metadata.namespace ?? '',
      labels: metadata.labels ?? {},
      namespaceLabels,
      vpc: metadata.annotations?.[annotation.logicalRouter] ?? defaultVpc,
      provider: 'ovn',
      namedPorts: namedPortsOf(spec),
      securityGroups: metadata.annotations?.[annotation.securityGroups] ?? '',
    },
  };
}

function allocated(annotations: Readonly<Record<string, string>> = {}): readonly string[] {
  return (annotations[annotation.ipAddress] ?? '').split(',').flatMap(canonical);
}

function canonical(text: string): readonly string[] {
  const ip = parseIp(text.trim());
  return ip === undefined ? [] : [formatIp(ip)];
}
