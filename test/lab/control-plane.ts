/**
 * A cluster's control plane: etcd, kube-apiserver and the controllers that make namespaces end and Deployments work, for kubelets
 * all controllers and the scheduler, in the cluster's namespace. A loopback port of the root namespace leads to the API (forward.ts).
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openKube } from '../../lib/kube/client.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { startAndWait, startComponent, writeWhole } from './component.ts';
import { startForward } from './forward.ts';
import { bothFamilies, type ClusterLayout, runsKubelets } from './layout.ts';
import { managementAddress } from './network.ts';
import { writePki } from './pki.ts';
import type { Place } from './run.ts';
import { tool } from './tools.ts';

const controllers = [
  'namespace-controller',
  'garbage-collector-controller',
  'serviceaccount-controller',
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'endpointslice-controller',
];

/** Starts the control plane and writes `kubeconfig`; returns a client with all rights when the API is ready. */
export async function startControlPlane(cluster: ClusterLayout): Promise<KubeClient> {
  const { dir } = cluster;
  const pki = join(dir, 'pki');
  mkdirSync(pki, { recursive: true });
  await writePki(pki, ['127.0.0.1', cluster.address, managementAddress(cluster), serviceAddress(cluster)]);
  const users = usersOf(cluster);
  const known = users.map(({ token, user, group }) => `${token},${user},${user},${group}\n`);
  writeFileSync(join(pki, 'tokens.csv'), known.join(''), { mode: 0o600 });
  for (const { file, server, token } of users) writeKubeconfig(file, server, pki, { token });
  await startEtcd(cluster);
  await startForward({ ...cluster, target: 6443 });
  const probe = openKube({ kubeconfig: join(dir, 'kubeconfig'), userAgent: 'lab', patienceMs: 0 });
  await startAndWait(apiServer(cluster, pki), () => isReady(probe), 120_000);
  await probe.close();
  await startComponent(controllerManager(cluster));
  if (runsKubelets(cluster)) await startComponent(scheduler(cluster));
  return openAdmin(cluster);
}

interface User {
  /** The kubeconfig that has the token. */
  readonly file: string;
  readonly server: string;
  readonly token: string;
  readonly user: string;
  readonly group: string;
}

function usersOf(cluster: ClusterLayout): User[] {
  const { dir, apiPort } = cluster;
  const token = (): string => randomBytes(24).toString('hex');
  const admin = { token: token(), user: 'admin', group: 'system:masters' };
  const server = `https://${managementAddress(cluster)}:6443`;
  const proxy = { token: token(), server, user: 'system:kube-proxy', group: '' };
  const hasProxy = runsKubelets(cluster) && cluster.kubeProxy !== 'none';
  return [
    { ...admin, file: join(dir, 'kubeconfig'), server: `https://127.0.0.1:${apiPort}` },
    { ...admin, file: join(dir, 'internal.kubeconfig'), server: 'https://127.0.0.1:6443' },
    ...(hasProxy ? [{ ...proxy, file: proxyKubeconfig(cluster) }] : []),
    ...cluster.nodes
      .filter(({ runtime }) => runtime === 'kubelet')
      .map(({ dir: folder, name }) => ({
        file: join(folder, 'kubelet.kubeconfig'),
        server,
        token: token(),
        user: `system:node:${name}`,
        group: 'system:nodes',
      })),
  ];
}

/** Of kube-proxy on the nodes. */
export function proxyKubeconfig({ dir }: Pick<ClusterLayout, 'dir'>): string {
  return join(dir, 'kube-proxy.kubeconfig');
}

/** Of the Service `kubernetes`. */
function serviceAddress({ serviceCidr }: ClusterLayout): string {
  return serviceCidr.replace(/\d+\/\d+$/, '1');
}

/** A client with all rights in a cluster whose API server was ready once; to be closed by the caller. */
export function openAdmin(cluster: ClusterLayout, userAgent = 'lab'): KubeClient {
  return openKube({ kubeconfig: join(cluster.dir, 'kubeconfig'), userAgent, patienceMs: 30_000 });
}

/** A token, or the absolute path of a file that always has the newest. */
export type TokenSource = { readonly token: string } | { readonly tokenFile: string };

/** A kubeconfig with one context, its authority inside, for the holder of a token. */
export function writeKubeconfig(file: string, server: string, pki: string, user: TokenSource): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'lab',
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab' } }],
    clusters: [{ name: 'lab', cluster: { server, 'certificate-authority': join(pki, 'ca.crt') } }],
    users: [{ name: 'lab', user }],
  };
  writeWhole(file, `${JSON.stringify(config, null, 1)}\n`, 0o600);
}

async function isReady(kube: KubeClient): Promise<true> {
  await kube.request('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin');
  // kube-controller-manager gives up if it has to wait ten seconds for this.
  await kube.request('GET', '/healthz');
  return true;
}

async function startEtcd(cluster: ClusterLayout): Promise<void> {
  const { dir, netns } = cluster;
  const data = join(dir, 'etcd');
  rmSync(data, { recursive: true, force: true });
  const peer = 'http://127.0.0.1:2380';
  const client = 'http://127.0.0.1:2379';
  await startComponent({
    dir,
    name: 'etcd',
    netns,
    ...placeOf(cluster),
    argv: [
      'etcd',
      '--name=lab',
      `--data-dir=${data}`,
      '--unsafe-no-fsync',
      '--log-level=warn',
      '--snapshot-count=5000',
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=lab=${peer}`,
    ],
  });
}

/** The machines of nodes go before all other processes (cgroups.ts); leaders lose their leases when the API server has to wait for them. */
function placeOf(cluster: ClusterLayout): { readonly goes?: Place } {
  return runsKubelets(cluster) ? { goes: 'second' } : {};
}

function apiServer(cluster: ClusterLayout, pki: string): Parameters<typeof startComponent>[0] {
  return {
    dir: cluster.dir,
    name: 'kube-apiserver',
    netns: cluster.netns,
    ...placeOf(cluster),
    argv: [
      tool('kube-apiserver'),
      '--etcd-servers=http://127.0.0.1:2379',
      '--bind-address=0.0.0.0',
      '--secure-port=6443',
      `--advertise-address=${runsKubelets(cluster) ? managementAddress(cluster) : cluster.address}`,
      `--service-cluster-ip-range=${bothFamilies(cluster.serviceCidr, cluster.serviceCidr6)}`,
      '--authorization-mode=Node,RBAC',
      `--tls-cert-file=${pki}/apiserver.crt`,
      `--tls-private-key-file=${pki}/apiserver.key`,
      `--token-auth-file=${pki}/tokens.csv`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${pki}/service-account.pub`,
      `--service-account-signing-key-file=${pki}/service-account.key`,
      ...(runsKubelets(cluster) ? forKubelets(pki) : forBareNodes),
      '--enable-priority-and-fairness=false',
      '--profiling=false',
    ],
  };
}

// The lab's pods get no service-account volume; without this the API would refuse pods until a token exists.
const forBareNodes = ['--disable-admission-plugins=ServiceAccount'];

function forKubelets(pki: string): string[] {
  return [
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    `--kubelet-client-certificate=${pki}/kubelet-client.crt`,
    `--kubelet-client-key=${pki}/kubelet-client.key`,
    '--kubelet-preferred-address-types=InternalIP',
  ];
}

function controllerManager(cluster: ClusterLayout): Parameters<typeof startComponent>[0] {
  const { dir, netns } = cluster;
  const pki = join(dir, 'pki');
  const all = [
    '--controllers=*',
    `--root-ca-file=${pki}/ca.crt`,
    `--service-account-private-key-file=${pki}/service-account.key`,
  ];
  return {
    dir,
    name: 'kube-controller-manager',
    netns,
    argv: [
      tool('kube-controller-manager'),
      `--kubeconfig=${join(dir, 'internal.kubeconfig')}`,
      '--leader-elect=false',
      '--secure-port=0',
      ...(runsKubelets(cluster) ? all : [`--controllers=${controllers.join(',')}`]),
      '--concurrent-gc-syncs=4',
      '--profiling=false',
    ],
  };
}

function scheduler({ dir, netns }: ClusterLayout): Parameters<typeof startComponent>[0] {
  const access = `--kubeconfig=${join(dir, 'internal.kubeconfig')}`;
  const argv = [tool('kube-scheduler'), access, '--leader-elect=false', '--secure-port=0', '--profiling=false'];
  return { dir, name: 'kube-scheduler', netns, argv };
}
