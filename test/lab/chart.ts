/**
 * The chart's objects in a cluster of the lab: CRDs, service accounts, RBAC and objects made from its values, but
 * no workloads: the lab runs those processes itself, with the service accounts of the chart.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '../../lib/kube/types.ts';
import { writeKubeconfig } from './control-plane.ts';
import { writeWhole } from './component.ts';
import { checkout, type ClusterLayout, type NodeLayout } from './layout.ts';
import { applyAll, isLabKind, type Manifest, parseManifests } from './objects.ts';
import { run } from './run.ts';
import { tool } from './tools.ts';

const namespace = 'kube-system';
/** Service accounts of processes that run on nodes, each with its own token per node. */
export const nodeAccounts = ['isthmus-daemon', 'isthmus-speaker'] as const;
const tokenLifetimeSeconds = 365 * 24 * 3600;

/** Additional roles of a cluster. */
export interface InterconnectValues {
  readonly join: JoinValues | undefined;
  /** Of the hub that this cluster keeps the state of. */
  readonly hubAddress: string | undefined;
}

export interface JoinValues {
  readonly hub: string;
  readonly token: string;
}

/** Whether daemons serve Services on the nodes. */
export function servesOnNodes({ kubeProxy }: Pick<ClusterLayout, 'kubeProxy'>): boolean {
  return kubeProxy === 'none';
}

/** The objects of the chart for one cluster; with `join` it becomes a member of the hub. */
export async function renderChart(
  cluster: ClusterLayout,
  { join, hubAddress }: InterconnectValues,
): Promise<Manifest[]> {
  const values = {
    clusterName: cluster.name,
    interconnect: join ? { enabled: true, hub: join.hub, token: join.token } : { enabled: false },
    hub: hubAddress === undefined ? { enabled: false } : { enabled: true, address: hubAddress },
    ...(servesOnNodes(cluster)
      ? { services: { nodes: 'on', externalIPs: 'Allow' }, apiServer: { host: cluster.address } }
      : {}),
  };
  const file = `${cluster.dir}/values.json`;
  writeWhole(file, JSON.stringify(values), 0o600);
  const text = await run([
    tool('helm'),
    'template',
    'isthmus',
    `${checkout}/charts/isthmus`,
    '--kube-version',
    '1.34.4',
    '--namespace',
    namespace,
    '--values',
    file,
  ]);
  // It holds the join token, which nothing needs after this.
  rmSync(file);
  const manifests = parseManifests(text, 'helm template charts/isthmus');
  writeConflist(cluster, manifests);
  return manifests.filter(isLabKind);
}

/** The CNI configuration list of the chart, for the daemons of a cluster. */
export function chartConflist(cluster: ClusterLayout): string {
  return join(cluster.dir, '01-isthmus.conflist');
}

function writeConflist(cluster: ClusterLayout, manifests: readonly Manifest[]): void {
  const config = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'isthmus-cni');
  const text = (config?.['data'] as Readonly<Record<string, string>> | undefined)?.['01-isthmus.conflist'];
  if (text === undefined) throw new Error('the chart has no CNI configuration list in ConfigMap isthmus-cni');
  writeWhole(chartConflist(cluster), text);
}

/** The namespaces of the chart's objects; a new API server may not have created them yet. */
export async function makeNamespaces(kube: KubeClient): Promise<void> {
  const names = [namespace, 'default'];
  await applyAll(
    kube,
    names.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
  );
}

/** Applies the chart's objects. */
export async function installChart(kube: KubeClient, manifests: readonly Manifest[]): Promise<void> {
  await applyAll(kube, manifests);
}

/** Path of the kubeconfig of a service account, in the folder of the cluster's or the node's processes. */
export function accountKubeconfig(place: ClusterLayout | NodeLayout, account: string): string {
  return join(place.dir, `${account}.kubeconfig`);
}

/** Path of the token of a node's process. The process reads it again, as it does with a token that kubelet renews. */
export function tokenFile(node: NodeLayout, account: string): string {
  return join(node.dir, `${account}.token`);
}

/** Writes a kubeconfig with exactly the rights of a service account of the chart. @throws KubeApiError if the chart has no such account. */
export async function writeAccountKubeconfig(kube: KubeClient, cluster: ClusterLayout, account: string): Promise<void> {
  const token = await requestToken(kube, account);
  writeKubeconfig(accountKubeconfig(cluster, account), serverOf(cluster), join(cluster.dir, 'pki'), { token });
}

/** Writes the kubeconfigs and tokens of a node's processes. @throws KubeApiError, for example while there is no such Node. */
export async function writeNodeKubeconfigs(kube: KubeClient, cluster: ClusterLayout, node: NodeLayout): Promise<void> {
  for (const account of nodeAccounts) {
    const user = { tokenFile: tokenFile(node, account) };
    writeKubeconfig(accountKubeconfig(node, account), serverOf(cluster), join(cluster.dir, 'pki'), user);
  }
  await renewNodeTokens(kube, node);
}

/**
 * Writes tokens bound to the Node for a node's processes; they expire with the object, as tokens in pods expire with their pod.
 * @throws KubeApiError, for example while there is no such Node.
 */
export async function renewNodeTokens(kube: KubeClient, node: NodeLayout): Promise<void> {
  const boundObjectRef = { apiVersion: 'v1', kind: 'Node', name: node.name };
  await Promise.all(
    nodeAccounts.map(async (account) =>
      writeWhole(tokenFile(node, account), await requestToken(kube, account, boundObjectRef), 0o600),
    ),
  );
}

async function requestToken(kube: KubeClient, account: string, boundObjectRef?: object): Promise<string> {
  const answer = (await kube.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: tokenLifetimeSeconds, ...(boundObjectRef && { boundObjectRef }) },
  })) as { status: { token: string } };
  return answer.status.token;
}

function serverOf(cluster: ClusterLayout): string {
  return `https://${cluster.address}:6443`;
}
