/** CoreDNS in a cluster of machines, as kubeadm installs it: its objects. The pods start once a network is installed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout, type ClusterLayout } from '../layout.ts';
import { run } from '../run.ts';
import { tool } from '../tools.ts';

const name = 'coredns';
const namespace = 'kube-system';
const labels = { 'k8s-app': 'kube-dns' };

export const clusterDomain = 'cluster.local';

/** The address of Service `kube-dns`, which kubelets pass to their pods. */
export function dnsAddress({ serviceCidr }: Pick<ClusterLayout, 'serviceCidr'>): string {
  return serviceCidr.replace(/\d+\/\d+$/, '10');
}

/** As the module of the programs pins it. */
export function dnsVersion(): string {
  const pinned = readFileSync(join(checkout, 'test/upstream/go.mod'), 'utf8');
  return /github\.com\/coredns\/coredns v(\S+)/.exec(pinned)?.[1] ?? '';
}

/** @throws Error with kubectl's output */
export async function applyDns(cluster: ClusterLayout): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: dnsObjects(cluster) });
  await run([tool('kubectl'), '--kubeconfig', join(cluster.dir, 'kubeconfig'), 'apply', '-f', '-'], { input });
}

function dnsObjects(cluster: ClusterLayout): readonly object[] {
  const metadata = { name, namespace };
  const rules = [
    { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  ];
  const rbac = 'rbac.authorization.k8s.io';
  const port = (title: string, number: number, protocol = 'TCP'): object => ({ name: title, port: number, protocol });
  const ports = [port('dns', 53, 'UDP'), port('dns-tcp', 53), port('metrics', 9153)];
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: corefile } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace, labels },
      spec: { clusterIP: dnsAddress(cluster), selector: labels, ports },
    },
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...metadata, labels }, spec: deployment() },
  ];
}

/** There is no name server outside to forward to. */
const corefile = `.:53 {
    errors
    health
    ready
    kubernetes ${clusterDomain} in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    cache 30
    loop
    reload
    loadbalance
}
`;

function deployment(): object {
  const container = {
    name,
    image: `${name}:${dnsVersion()}`,
    imagePullPolicy: 'Never',
    args: ['-conf', '/etc/coredns/Corefile'],
    livenessProbe: {
      httpGet: { path: '/health', port: 8080 },
      initialDelaySeconds: 60,
      timeoutSeconds: 5,
      failureThreshold: 5,
    },
    readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 2 },
    volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
  };
  const spec = {
    serviceAccountName: name,
    priorityClassName: 'system-cluster-critical',
    tolerations: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
    dnsPolicy: 'Default',
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: labels },
      },
    ],
    containers: [container],
    volumes: [{ name: 'config', configMap: { name } }],
  };
  return { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } };
}
