/**
 * The lab's network: one namespace per host, all on one bridge in `<lab>-net`. A control plane, the hub and the
 * routers have a kernel uplink; a node's uplink belongs to its OVS (node.ts). Nothing is added to the root namespace.
 */
import { readdirSync, existsSync } from 'node:fs';
import type { Lab } from './layout.ts';
import { underlayPrefixLength } from './layout.ts';
import { run, tryRun } from './run.ts';

export interface Host {
  readonly netns: string;
  readonly address: string;
  readonly kind: 'kernel' | 'node';
}

function hostsOf(lab: Lab): Host[] {
  return [
    ...lab.clusters.flatMap((cluster) => [
      { netns: cluster.netns, address: cluster.address, kind: 'kernel' as const },
      ...cluster.nodes.map((node) => ({ netns: node.netns, address: node.address, kind: 'node' as const })),
    ]),
    ...(lab.hub ? [{ netns: lab.hub.netns, address: lab.hub.address, kind: 'kernel' as const }] : []),
    ...lab.routers.map((router) => ({ netns: router.netns, address: router.address, kind: 'kernel' as const })),
  ];
}

/** Makes all namespaces and links. Every host's uplink is `up0`. */
export async function makeNetwork(lab: Lab): Promise<void> {
  const hosts = hostsOf(lab);
  await run(['ip', '-batch', '-'], {
    input: [lab.netns, ...lab.lans.map((lan) => lan.netns), ...hosts.map((host) => host.netns)]
      .map((name) => `netns add ${name}`)
      .join('\n'),
  });
  await run(['ip', '-n', lab.netns, '-batch', '-'], {
    input: `link add br0 type bridge\nlink set br0 up alias ${lab.dir}\nlink set lo up`,
  });
  await run(['ip', '-batch', '-'], {
    input: hosts
      .map((host, at) => `link add up0 netns ${host.netns} type veth peer name p${String(at)} netns ${lab.netns}`)
      .join('\n'),
  });
  await run(['ip', '-n', lab.netns, '-batch', '-'], {
    input: hosts.map((_, at) => `link set p${String(at)} master br0 up`).join('\n'),
  });
  await Promise.all(hosts.map((host) => configureHost(lab, host)));
}

/** Adds one host to the network of a lab that is up. */
export async function addHost(lab: Lab, host: Host): Promise<void> {
  // The name of a link has fifteen bytes; a host that is not of the topology is told from the others by its address.
  const port = `x${host.address.split('.').slice(2).join('-')}`;
  // A namespace that was deleted keeps its links until the kernel has come to it.
  await tryRun(['ip', '-n', lab.netns, 'link', 'del', port]);
  await run(['ip', '-batch', '-'], {
    input: `netns add ${host.netns}\nlink add up0 netns ${host.netns} type veth peer name ${port} netns ${lab.netns}`,
  });
  await run(['ip', '-n', lab.netns, 'link', 'set', port, 'master', 'br0', 'up']);
  await configureHost(lab, host);
}

async function configureHost(lab: Lab, host: Host): Promise<void> {
  const lines = ['link set lo up', 'link set up0 up'];
  if (host.kind === 'kernel') lines.push(`addr add ${host.address}/${String(underlayPrefixLength)} dev up0`);
  const router = lab.routers.find((r) => r.netns === host.netns);
  if (router) lines.push(`addr add ${router.outside} dev lo`);
  await run(['ip', '-n', host.netns, '-batch', '-'], { input: lines.join('\n') });
  // Otherwise the userspace datapath sees packets whose checksum nobody finished, and TCP fails.
  await run(['ethtool', '-K', 'up0', 'tx', 'off'], { netns: host.netns });
  // The address lies on br-phys. The kernel would answer for it on up0, too, by another MAC address, to which tunnels are lost.
  if (host.kind === 'node') await run(['sysctl', '-q', '-w', 'net.ipv4.conf.up0.arp_ignore=1'], { netns: host.netns });
  if (host.kind === 'node' || router)
    await run(['sysctl', '-q', '-w', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1'], { netns: host.netns });
}

/** The node's own address lies on br-phys, an OVS port: it is lost whenever ovs-vswitchd dies, and set again by whoever starts it. */
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
