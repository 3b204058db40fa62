/** Isthmus's own processes in a lab, all supervised, with the command lines of the chart's workloads. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { accountKubeconfig, chartConflist, servesOnNodes } from './chart.ts';
import { cniConf } from './cni-folder.ts';
import type { Component } from './component.ts';
import {
  bothFamilies,
  checkout,
  type ClusterLayout,
  type HubLayout,
  hubRemotes,
  isSpeaker,
  type Lab,
  type NodeLayout,
  type Room,
} from './layout.ts';
import { cacheFolder, tool } from './tools.ts';

export const node24: string = join(checkout, 'node_modules/.bin/node');
const systemNamespace = 'kube-system';
const roomEnv = {
  NODE_COMPILE_CACHE: cacheFolder('node'),
  // As a URL: this variable is split at blanks, and a module's name has no other way to hold them.
  NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'keep-compiled.mjs')).href}`,
};

/**
 * How the chart starts the controller, whose memory grows with the cluster, and the daemon, which is on every node: a small
 * young generation, little growth between collections, and memory freed in idle times is returned to the machine.
 */
export const frugalProcess = {
  flags: ['--expose-gc', '--max-semi-space-size=4', '--heap-growing-percent=40'],
  env: { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' },
} as const;

function roomArgv(main: string, flags: Readonly<Record<string, string>>, nodeFlags: readonly string[] = []): string[] {
  const given = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  return [node24, ...nodeFlags, join(checkout, main), ...given];
}

/** The processes of one cluster, for the rooms this lab runs. */
export function clusterRooms(lab: Lab, cluster: ClusterLayout): Component[] {
  const found: Component[] = [];
  if (runs(lab, 'controller')) found.push(controller(cluster));
  if (lab.hub && cluster.joins && runs(lab, 'interconnect')) found.push(agentOf(cluster));
  for (const node of cluster.nodes) {
    if (lab.wireguard && node.labels['ovn.kubernetes.io/ic-gw'] === 'true') found.push(wireguard(node));
    if (runs(lab, 'daemon')) found.push(daemon(cluster, node));
    if (isSpeaker(node) && runs(lab, 'speaker')) found.push(gobgpd(node), speaker(node));
  }
  return found;
}

export function runs(lab: Lab, room: Room): boolean {
  return !lab.without.includes(room);
}

/** Rooms without code, so that a lab reports at once which rooms it cannot run. */
export function missingRooms(lab: Lab): Room[] {
  const wanted: Room[] = ['controller', 'daemon', 'speaker', ...(lab.hub ? (['interconnect'] as const) : [])];
  return wanted.filter((room) => runs(lab, room) && !existsSync(join(checkout, room, 'main.ts')));
}

function controller(cluster: ClusterLayout): Component {
  const { dir, netns } = cluster;
  const settings = {
    kubeconfig: accountKubeconfig(cluster, 'isthmus-controller'),
    nb: `unix:${dir}/nb.sock`,
    sb: `unix:${dir}/sb.sock`,
    namespace: systemNamespace,
    identity: `${cluster.netns}-controller`,
    'metrics-address': '127.0.0.1:10660',
    'default-cidr': bothFamilies(cluster.podCidr, cluster.podCidr6),
    'join-cidr': bothFamilies(cluster.joinCidr, cluster.joinCidr6),
    ...(servesOnNodes(cluster) ? { 'external-ips': 'Allow' } : {}),
  };
  const argv = roomArgv('controller/main.ts', settings, frugalProcess.flags);
  return { dir, name: 'controller', netns, argv, env: { ...roomEnv, ...frugalProcess.env }, isSupervised: true };
}

/** The agent of a member, or of a cluster that will join. */
export function agentOf(cluster: ClusterLayout): Component {
  const { dir, netns } = cluster;
  const argv = roomArgv('interconnect/main.ts', {
    kubeconfig: accountKubeconfig(cluster, 'isthmus-interconnect'),
    nb: `unix:${dir}/nb.sock`,
    sb: `unix:${dir}/sb.sock`,
    namespace: systemNamespace,
    identity: `${cluster.netns}-interconnect`,
    'metrics-address': '127.0.0.1:10669',
  });
  return { dir, name: 'interconnect', netns, argv, env: roomEnv, isSupervised: true };
}

function daemon(cluster: ClusterLayout, node: NodeLayout): Component {
  const { dir, netns } = node;
  const settings = {
    kubeconfig: accountKubeconfig(node, 'isthmus-daemon'),
    node: node.name,
    ovs: `unix:${dir}/db.sock`,
    sb: `tcp:${cluster.address}:6642`,
    socket: cniSocket(node),
    'encap-ip': node.address,
    'encap-type': 'geneve',
    'datapath-type': 'netdev',
    mtu: '1400',
    'metrics-address': '127.0.0.1:10665',
    'ovs-rundir': dir,
    'state-dir': dir,
    'wireguard-socket': join(dir, 'wireguard/isthmus-wg.sock'),
    'cni-conflist': chartConflist(cluster),
    'cni-conf-dir': cniConf(node),
    ...(servesOnNodes(cluster) ? { services: 'on', 'external-ips': 'Allow' } : {}),
  };
  const argv = roomArgv('daemon/main.ts', settings, frugalProcess.flags);
  const env = { ...roomEnv, ...frugalProcess.env, ISTHMUS_POLICY_COUNTERS: 'true' };
  return { dir, name: 'daemon', netns, argv, env, isSupervised: true };
}

/** In a mount namespace of its own, where its folder of sockets is that of the node. */
function wireguard({ dir, netns }: NodeLayout): Component {
  const script =
    'mkdir -p "$1" && mount -t tmpfs tmpfs /run && mkdir -p /run/isthmus/wireguard && mount --bind "$1" /run/isthmus/wireguard && exec "$2" -f isthmus-wg';
  const argv = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh'];
  const env = { LOG_LEVEL: 'verbose' };
  return {
    dir,
    name: 'wireguard',
    netns,
    argv: [...argv, join(dir, 'wireguard'), tool('wireguard-go')],
    env,
    isSupervised: true,
  };
}

/** The socket of a node's daemon for the CNI shim. */
export function cniSocket(node: NodeLayout): string {
  return join(node.dir, 'daemon.sock');
}

function gobgpd(node: NodeLayout): Component {
  const { dir, netns } = node;
  const socket = join(dir, 'gobgpd.sock');
  const argv = [tool('gobgpd'), '--api-hosts', `unix://${socket}`, '--pprof-disable', '--metrics-path', ''];
  return { dir, name: 'gobgpd', netns, argv, isSupervised: true, staleFiles: [socket] };
}

function speaker(node: NodeLayout): Component {
  const { dir, netns } = node;
  const argv = roomArgv('speaker/main.ts', {
    kubeconfig: accountKubeconfig(node, 'isthmus-speaker'),
    node: node.name,
    gobgpd: `unix:${dir}/gobgpd.sock`,
    'gobgpd-log': join(dir, 'gobgpd.log'),
    namespace: systemNamespace,
    'password-secrets': 'isthmus-bgp-passwords',
    'metrics-address': '127.0.0.1:10667',
  });
  return { dir, name: 'speaker', netns, argv, env: roomEnv, isSupervised: true };
}

/** The hub's server; `home` keeps its state. */
export function hubServer(home: ClusterLayout, hub: HubLayout): Component {
  const { dir, netns } = hub;
  const [node = '', main = '', ...flags] = roomArgv('interconnect/hub/main.ts', {
    kubeconfig: accountKubeconfig(home, 'isthmus-hub'),
    namespace: systemNamespace,
    listen: '0.0.0.0:6650',
    icnb: hubRemotes(hub, 'icnb'),
    icsb: hubRemotes(hub, 'icsb'),
    'transit-cidr': bothFamilies(hub.transitCidr, hub.transitCidr6),
    'metrics-address': '127.0.0.1:10668',
  });
  return { dir, name: 'hub', netns, argv: [node, main, 'serve', ...flags], env: roomEnv, isSupervised: true };
}

/** The command that prints a join token for a cluster. */
export function hubToken(home: ClusterLayout, hub: HubLayout, cluster: string): string[] {
  const access = ['--kubeconfig', join(home.dir, 'kubeconfig'), '--namespace', systemNamespace];
  const flags = [...access, '--hub', `${hub.address}:6650`, '--cluster', cluster, '--ttl', '1h'];
  return [node24, join(checkout, 'interconnect/hub/main.ts'), 'token', ...flags];
}
