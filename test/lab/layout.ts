/**
 * Layout of a lab: directories, namespaces, addresses. In: a lab's name and topology; out: one immutable
 * value that every other file here and the tests read. Nothing is created here, and the same input gives the same
 * output, so a second process (labd, a test, lab-down) finds the objects that the first one created.
 */
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { checkTopology, type Topology } from './topology.ts';

export interface NodeLayout {
  readonly name: string;
  readonly cluster: string;
  readonly dir: string;
  readonly netns: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ovn: string;
  /** Pod runtime: the lab itself, a containerd on the node, or a kubelet with a containerd. */
  readonly runtime: 'bare' | 'containerd' | 'kubelet';
}
export interface ClusterLayout {
  readonly name: string;
  readonly dir: string;
  /** Version of OVN, such as `25.03`; empty: this machine's own. */
  readonly ovn: string;
  readonly netns: string;
  readonly address: string;
  readonly podCidr: string;
  readonly joinCidr: string;
  readonly podCidr6?: string | undefined;
  readonly joinCidr6?: string | undefined;
  readonly serviceCidr: string;
  readonly serviceCidr6?: string | undefined;
  readonly asn: number;
  readonly nodes: readonly NodeLayout[];
  /** Whether the lab makes it a member of the hub. */
  readonly joins: boolean;
  /** The mode of kube-proxy on kubelets. */
  readonly kubeProxy: 'iptables' | 'nftables' | 'none';
  /** Loopback port of the root namespace that leads to the API server. */
  readonly apiPort: number;
}
export interface RouterLayout {
  readonly name: string;
  readonly dir: string;
  readonly netns: string;
  readonly address: string;
  readonly asn: number;
  readonly outside: string;
}
export interface LanLayout {
  readonly name: string;
  readonly dir: string;
  /** Of its switch and its gateway. */
  readonly netns: string;
  /** That every node has in it. */
  readonly interface: string;
  readonly gateways: readonly { readonly vlan: number; readonly addresses: readonly string[] }[];
}
export interface HubLayout {
  readonly dir: string;
  readonly netns: string;
  readonly address: string;
  readonly transitCidr: string;
  readonly transitCidr6?: string | undefined;
  /** Servers of each interconnect database: 1, or 3 of a raft. */
  readonly databases: number;
  readonly ovn: string;
}
export interface Lab {
  readonly name: string;
  /** Real directory of the state, without symlinks. */
  readonly dir: string;
  readonly netns: string;
  readonly clusters: readonly ClusterLayout[];
  readonly routers: readonly RouterLayout[];
  readonly lans: readonly LanLayout[];
  readonly hub: HubLayout | undefined;
  /** Whether gateways run wireguard-go. */
  readonly wireguard: boolean;
  /** Rooms that this lab runs without: the user starts them by hand. */
  readonly without: readonly Room[];
}

export const rooms = ['controller', 'daemon', 'interconnect', 'speaker'] as const;
export type Room = (typeof rooms)[number];

/** Content of lab.json: the input of the layout. */
export interface LabRecord {
  readonly name: string;
  readonly topology: Topology;
  readonly without: readonly Room[];
  readonly apiPorts: readonly number[];
  /** False while the lab is being created; an incomplete lab is removed before it is created again. */
  readonly isComplete: boolean;
}

export const checkout: string = resolve(import.meta.dirname, '../..');
export const underlayPrefixLength = 16;

/** A value for both families as flags have it. */
export function bothFamilies(cidr: string, cidr6: string | undefined): string {
  return cidr6 === undefined ? cidr : `${cidr},${cidr6}`;
}

/** The lab's name from LAB, `demo` by default. @throws Error on a name that namespaces cannot carry. */
export function labName(env: NodeJS.ProcessEnv = process.env): string {
  const name = env['LAB'] ?? 'demo';
  if (!/^[a-z][a-z0-9]{0,11}$/.test(name))
    throw new Error(`LAB=${name}: a lab's name is 1 to 12 characters a-z0-9, beginning with a letter`);
  return name;
}

/** `.lab/<lab>` of the checkout: the documented place, which may be a symlink. */
export function publicStateDir(name: string): string {
  return join(checkout, '.lab', name);
}

/**
 * Real directory of the state. Unix socket paths end at 107 bytes, FRR drops root before it opens its sockets, and paths
 * occur in command lines of `ip -batch`, socat and OVN's remotes, which have separators and no quotes. So a checkout whose
 * path is long, private, or has more than plain characters keeps the state in a short temporary directory behind a symlink.
 */
export function realStateDir(name: string): string {
  const wanted = publicStateDir(name);
  if (existsSync(wanted)) return realpathSync(wanted);
  if (isPlainPath(wanted) && isTraversable(checkout)) return wanted;
  const id = createHash('sha256').update(wanted).digest('hex').slice(0, 8);
  return join('/tmp', `isthmus-${name}-${id}`);
}

/** Whether a path has at most sixty bytes, without characters that are special in a text containing it. */
export function isPlainPath(path: string): boolean {
  return /^[A-Za-z0-9/._-]{1,60}$/.test(path);
}

function isTraversable(dir: string): boolean {
  for (let at = dir; ; at = dirname(at)) {
    accessSync(at, constants.X_OK);
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === '/') return true;
  }
}

export function layOut(record: LabRecord): Lab {
  const { name, topology } = record;
  const dir = realStateDir(name);
  return {
    name,
    dir,
    netns: `${name}-net`,
    clusters: topology.clusters.map((cluster, index) => layOutCluster(record, dir, cluster, index)),
    routers: topology.routers.map((router, index) => ({
      ...router,
      dir: join(dir, router.name),
      netns: `${name}-${router.name}`,
      address: `172.30.0.${String(index + 1)}`,
    })),
    lans: topology.lans.map((lan, index) => ({
      ...lan,
      dir: join(dir, lan.name),
      netns: `${name}-${lan.name}`,
      interface: `eth${String(index + 1)}`,
    })),
    hub: topology.hub && {
      dir: join(dir, 'hub'),
      netns: `${name}-hub`,
      address: '172.30.0.5',
      ...topology.hub,
      ovn: topology.ovn ?? '',
    },
    wireguard: topology.wireguard,
    without: record.without,
  };
}

function layOutCluster(
  record: LabRecord,
  dir: string,
  cluster: Topology['clusters'][number],
  index: number,
): ClusterLayout {
  const subnet = `172.30.${String(index + 1)}`;
  const clusterDir = join(dir, cluster.name);
  const ovn = cluster.ovn ?? record.topology.ovn ?? '';
  return {
    ...cluster,
    ovn,
    dir: clusterDir,
    netns: `${record.name}-${cluster.name}`,
    address: `${subnet}.10`,
    apiPort: record.apiPorts[index] ?? 0,
    nodes: cluster.nodes.map((node, at) => ({
      ...node,
      cluster: cluster.name,
      ovn,
      runtime: node.runtime ?? cluster.runtime ?? 'bare',
      dir: join(clusterDir, node.name),
      netns: `${record.name}-${cluster.name}-${node.name}`,
      address: `${subnet}.${String(at + 11)}`,
    })),
  };
}

export type HubDatabase = 'icnb' | 'icsb';

/** The components that serve an interconnect database: `icnb`, and of a raft also `icnb2` and `icnb3`. */
export function hubDatabaseServers(hub: HubLayout, database: HubDatabase): string[] {
  return Array.from({ length: hub.databases }, (_, at) => (at === 0 ? database : `${database}${String(at + 1)}`));
}

/** The remotes of an interconnect database as clients take them: all its servers, joined by commas. */
export function hubRemotes(hub: HubLayout, database: HubDatabase): string {
  return hubDatabaseServers(hub, database)
    .map((name) => `unix:${join(hub.dir, `${name}.sock`)}`)
    .join(',');
}

/** The namespace of a pod. */
export function podNetns(lab: Lab, cluster: string, namespace: string, pod: string): string {
  return `${lab.name}-${cluster}-${namespace}-${pod}`;
}

/** Whether its nodes are machines with kubelets, on which the chart runs everything of Isthmus. */
export function runsKubelets(cluster: Pick<ClusterLayout, 'nodes'>): boolean {
  return cluster.nodes.some(({ runtime }) => runtime === 'kubelet');
}

export function isGateway(node: NodeLayout): boolean {
  return node.labels['ovn.kubernetes.io/ic-gw'] === 'true';
}
export function isSpeaker(node: NodeLayout): boolean {
  return node.labels['ovn.kubernetes.io/bgp'] === 'true';
}

export function recordFile(name: string): string {
  return join(publicStateDir(name), 'lab.json');
}

/** The record of a lab that exists, or undefined. @throws Error if the record is damaged. */
export function readRecord(name: string): LabRecord | undefined {
  const file = recordFile(name);
  if (!existsSync(file)) return undefined;
  const record = JSON.parse(readFileSync(file, 'utf8')) as LabRecord;
  return { ...record, topology: checkTopology(record.topology, file) };
}

/** @throws Error if there is no such lab. */
export function openLayout(name: string): Lab {
  const record = readRecord(name);
  if (record === undefined)
    throw new Error(`there is no lab ${name}: start it with \`make lab-up${name === 'demo' ? '' : ` LAB=${name}`}\``);
  return layOut(record);
}
