/**
 * The lab's network: one namespace per host, all on one bridge in `<lab>-net`. A control plane, the hub and the
 * routers have a kernel uplink; a node's uplink belongs to its OVS (node.ts). Machines with kubelets reach their API server
 * by a second link and bridge, as Open vSwitch takes the first one. Nothing is added to the root namespace.
 */
import { readdirSync, existsSync } from 'node:fs';
import type { Lab, NodeLayout } from './layout.ts';
import { runsKubelets, underlayPrefixLength } from './layout.ts';
import { run, tryRun } from './run.ts';

export interface Host {
  readonly netns: string;
  readonly address: string;
  /** `machine`: a kernel's host that forwards, as a node with a kubelet is. */
  readonly kind: 'kernel' | 'node' | 'machine';
  readonly isManaged?: boolean;
}

interface Link {
  readonly netns: string;
  /** MAC address. */
  readonly mac: string;
  readonly name: 'up0' | 'mgmt0';
  readonly bridge: 'br0' | 'br1';
}

/** Of a managed host on the second network. */
export function managementAddress({ address }: Pick<Host, 'address'>): string {
  return address.replace(/^172\.30\./, '172.31.');
}

function linksOf(host: Host): Link[] {
  const { netns, address, isManaged = false } = host;
  const links: Link[] = [{ netns, mac: macOf(address), name: 'up0', bridge: 'br0' }];
  return isManaged ? [...links, { netns, mac: macOf(managementAddress(host)), name: 'mgmt0', bridge: 'br1' }] : links;
}

/** The same for a host that comes again, as a machine keeps its interfaces: others know it by the former one for a while. */
function macOf(address: string): string {
  const bytes = address.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'));
  return `02:00:${bytes.join(':')}`;
}

export function hostOf({ netns, address, runtime }: NodeLayout): Host {
  return runtime === 'kubelet'
    ? { netns, address, kind: 'machine', isManaged: true }
    : { netns, address, kind: 'node' };
}

function hostsOf(lab: Lab): Host[] {
  return [
    ...lab.clusters.flatMap((cluster) => [
      { netns: cluster.netns, address: cluster.address, kind: 'kernel' as const, isManaged: runsKubelets(cluster) },
      ...cluster.nodes.map(hostOf),
    ]),
    ...(lab.hub ? [{ netns: lab.hub.netns, address: lab.hub.address, kind: 'kernel' as const }] : []),
    ...lab.routers.map((router) => ({ netns: router.netns, address: router.address, kind: 'kernel' as const })),
  ];
}

/** Makes all namespaces and links. Every host's uplink is `up0`. */
export async function makeNetwork(lab: Lab): Promise<void> {
  const hosts = hostsOf(lab);
  const links = hosts.flatMap(linksOf);
  await run(['ip', '-batch', '-'], {
    input: [lab.netns, ...lab.lans.map((lan) => lan.netns), ...hosts.map((host) => host.netns)]
      .map((name) => `netns add ${name}`)
      .join('\n'),
  });
  await run(['ip', '-n', lab.netns, '-batch', '-'], {
    input: [
      `link add br0 type bridge\nlink set br0 up alias ${lab.dir}\nlink set lo up`,
      ...(hosts.some(({ isManaged }) => isManaged) ? ['link add br1 type bridge\nlink set br1 up'] : []),
    ].join('\n'),
  });
  await run(['ip', '-batch', '-'], {
    input: links
      .map(({ netns, mac, name }, at) => {
        const peer = `peer name p${at} netns ${lab.netns}`;
        return `link add ${name} address ${mac} netns ${netns} type veth ${peer}`;
      })
      .join('\n'),
  });
  await run(['ip', '-n', lab.netns, '-batch', '-'], {
    input: links.map(({ bridge }, at) => `link set p${at} master ${bridge} up`).join('\n'),
  });
  await Promise.all(hosts.map((host) => configureHost(lab, host)));
}

/** Adds one host to the network of a lab that is up. */
export async function addHost(lab: Lab, host: Host): Promise<void> {
  await run(['ip', 'netns', 'add', host.netns]);
  for (const { netns, mac, name, bridge } of linksOf(host)) {
    // The name of a link has at most fifteen bytes; hosts outside the topology are distinguished by their address.
    const port = `${bridge === 'br0' ? 'x' : 'y'}${host.address.split('.').slice(2).join('-')}`;
    // A namespace that was deleted keeps its links until the kernel has come to it.
    await tryRun(['ip', '-n', lab.netns, 'link', 'del', port]);
    const peer = ['peer', 'name', port, 'netns', lab.netns];
    await run(['ip', 'link', 'add', name, 'address', mac, 'netns', netns, 'type', 'veth', ...peer]);
    await run(['ip', '-n', lab.netns, 'link', 'set', port, 'master', bridge, 'up']);
  }
  await configureHost(lab, host);
}

async function configureHost(lab: Lab, host: Host): Promise<void> {
  const { address, netns, kind, isManaged = false } = host;
  const lines = ['link set lo up', 'link set up0 up'];
  if (kind !== 'node') lines.push(`addr add ${address}/${underlayPrefixLength} dev up0`);
  if (isManaged)
    lines.push('link set mgmt0 up', `addr add ${managementAddress(host)}/${underlayPrefixLength} dev mgmt0`);
  const router = lab.routers.find((r) => r.netns === netns);
  if (router) lines.push(`addr add ${router.outside} dev lo`);
  const gateway = lab.routers[0];
  if (kind === 'machine' && gateway) lines.push(`route add default via ${gateway.address} dev up0`);
  await run(['ip', '-n', netns, '-batch', '-'], { input: lines.join('\n') });
  // Otherwise the userspace datapath sees packets with unfinished checksums, and TCP fails.
  for (const { name } of linksOf(host)) await run(['ethtool', '-K', name, 'tx', 'off'], { netns });
  // The address lies on br-phys. The kernel would answer for it on up0, too, by another MAC address, to which tunnels are lost.
  if (kind === 'node') await run(['sysctl', '-q', '-w', 'net.ipv4.conf.up0.arp_ignore=1'], { netns });
  if (kind !== 'kernel' || router)
    await run(['sysctl', '-q', '-w', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1'], { netns });
}

/** The node's address is on br-phys, an OVS port: it is lost when ovs-vswitchd dies, and must be set again after each start. */
export async function configureNodeAddress(
  lab: Lab,
  node: { readonly netns: string; readonly address: string },
): Promise<void> {
  const gateway = lab.routers[0];
  const lines = [`addr replace ${node.address}/${String(underlayPrefixLength)} dev br-phys`, 'link set br-phys up'];
  if (gateway) lines.push(`route replace default via ${gateway.address} dev br-phys`);
  await run(['ip', '-n', node.netns, '-batch', '-'], { input: lines.join('\n') });
}

/** All namespaces whose name begins with the lab's, found in the kernel's own list. */
export function namespacesOf(name: string): string[] {
  if (!existsSync('/run/netns')) return [];
  return readdirSync('/run/netns').filter((entry) => entry.startsWith(`${name}-`));
}

/** The state directory that a lab's namespaces were made for, so that they are known even without it. */
export async function ownerOf(name: string): Promise<string | undefined> {
  const shown = await tryRun(['ip', '-n', `${name}-net`, '-j', 'link', 'show', 'dev', 'br0']);
  return shown.code === 0 ? (JSON.parse(shown.stdout) as { ifalias?: string }[])[0]?.ifalias : undefined;
}

export async function deleteNamespaces(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await run(['ip', '-batch', '-'], { input: names.map((name) => `netns del ${name}`).join('\n') });
}
