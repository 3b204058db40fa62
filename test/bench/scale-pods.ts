/**
 * The objects of a cluster of ten thousand pods: Subnets of one and of two families, their namespaces, Nodes without
 * machines, and pods as large as those of a Deployment are.
 */
import { addressCondition, vouchFor } from '../../lib/api/pod-addresses.ts';
import { annotation } from '../../lib/api/names.ts';
import { apiVersionOf, ips, namespaces, nodes, objectPath, pods, subnets } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';

export const nodeCount = 20;
const subnetCount = 10;
/** Requests of the bench in flight; more do not make the API server faster. */
const parallel = 32;

export interface PodAt {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
}

/** The pod with a number: consecutive pods are in different subnets, and on different nodes within a subnet. */
export function podAt(at: number, prefix = 'web'): PodAt {
  const node = Math.floor(at / subnetCount) % nodeCount;
  return {
    name: `${prefix}-7d4b9c6f5d-${String(at)}`,
    namespace: `team-${String(at % subnetCount)}`,
    node: `node-${String(node)}`,
  };
}

export const portOf = ({ name, namespace }: PodAt): string => `${name}.${namespace}`;

/** Runs `work` for all items, several concurrently; the first failure ends it. */
export async function forAll<T>(items: readonly T[], work: (item: T, at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T, at);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

export async function createNetworks(kube: KubeClient): Promise<void> {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
  for (const at of numbers(nodeCount)) {
    const name = `node-${String(at)}`;
    await kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const status = { addresses: [{ type: 'InternalIP', address: `192.0.2.${String(at + 1)}` }] };
    const contentType = 'application/merge-patch+json';
    await kube.request('PATCH', objectPath(nodes, { name }, 'status'), { status }, { contentType });
  }
  for (const at of numbers(subnetCount)) {
    const [namespace, v4] = [`team-${String(at)}`, `10.${String(100 + at)}.0.0/16`];
    const cidrBlock = at % 3 === 0 ? `${v4},fd00:${String(100 + at)}::/64` : v4;
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const spec = { cidrBlock, namespaces: [namespace] };
    await kube.create(subnets, {
      apiVersion: apiVersionOf(subnets),
      kind: subnets.kind,
      metadata: { name: namespace },
      spec,
    });
  }
}

function container(name: string, port: number): object {
  return {
    name,
    image: `registry.example.org/team/${name}@sha256:8f1e6f3c9a2b7d5e4c3b2a1908f7e6d5c4b3a2918e7f6d5c4b3a29180f7e6d5c`,
    args: ['--listen=:8080', '--log-format=json', '--shutdown-timeout=25s'],
    ports: [{ name, containerPort: port }],
    env: ['DATABASE_URL', 'CACHE_URL', 'REGION', 'FEATURES', 'TRACING_ENDPOINT'].map((key) => ({
      name: key,
      value: `${key.toLowerCase()}.example.org`,
    })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    readinessProbe: { httpGet: { path: '/ready', port: name }, periodSeconds: 5 },
    livenessProbe: { httpGet: { path: '/live', port: name }, periodSeconds: 10 },
    volumeMounts: [{ name: 'config', mountPath: '/etc/app', readOnly: true }],
  };
}

/**
 * A bound pod; its node has no machine, so no sandbox is created. A `bare` pod is on the host network: the
 * controller has no work with it, the API server as much.
 */
export function podManifest({ name, namespace, node }: PodAt, kind: 'own' | 'bare' = 'own'): object {
  const labels = {
    app: 'web',
    'app.kubernetes.io/part-of': namespace,
    'pod-template-hash': '7d4b9c6f5d',
    tier: 'front',
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels,
      annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '8080' },
    },
    spec: {
      nodeName: node,
      hostNetwork: kind === 'bare',
      // On the host network two containers cannot have one port.
      containers: [container('app', 8080), container('proxy', 8081)],
      volumes: [{ name: 'config', configMap: { name: 'app' } }],
    },
  };
}

export const createPod = (kube: KubeClient, pod: PodAt): Promise<unknown> => kube.create(pods, podManifest(pod));

/** Writes what the controller writes for a pod, without computing it: the annotations and the IP object. By default the Subnet has the namespace's name. */
export async function writeAddress(kube: KubeClient, pod: PodAt, subnet = pod.namespace): Promise<void> {
  const { name, namespace, node } = pod;
  const address = { ipAddress: '10.16.255.1', macAddress: '0a:00:00:00:00:01' };
  const annotations = {
    [annotation.allocated]: 'true',
    [annotation.routed]: 'true',
    [annotation.ipAddress]: address.ipAddress,
    [annotation.macAddress]: address.macAddress,
    [annotation.cidr]: '10.16.0.0/16',
    [annotation.gateway]: '10.16.0.1',
    [annotation.logicalSwitch]: subnet,
    [annotation.logicalRouter]: 'ovn-cluster',
    [annotation.podNicType]: 'veth-pair',
  };
  const condition = { status: 'True', reason: 'Allocated', message: vouchFor(annotations, ['ovn']) };
  const status = { conditions: [{ type: addressCondition, ...condition }] };
  const spec = { podName: `${name}-bare`, namespace, nodeName: node, subnet: '', ...address };
  await Promise.all([
    kube.patch(
      pods,
      { namespace, name },
      'strategic',
      { metadata: { annotations }, status },
      { subresource: 'status' },
    ),
    kube.create(ips, { apiVersion: apiVersionOf(ips), kind: ips.kind, metadata: { name: portOf(pod) }, spec }),
  ]);
}
