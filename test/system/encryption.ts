/** Encrypted tunnels between the clusters of a lab: turning them on, and captures that tell whether packets are in the clear. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readUapi } from '../../daemon/host/wireguard-uapi.ts';
import type { SeenPeer } from '../../daemon/model/wireguard.ts';
import type { GatewayWireGuard } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { conditionsOf } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

export const streamBytes = 2_000_000;
const listenPort = 9000;

export async function requireEncryption(lab: LabHandle, cluster: string): Promise<void> {
  const patch = JSON.stringify({ spec: { encryption: { mode: 'required' } } });
  await lab.kubectl(cluster, ['patch', 'interconnect', 'default', '--type', 'merge', '-p', patch]);
}

/** Waits until the other clusters are encrypted, and all paths to them are up. */
export async function untilEncrypted(lab: LabHandle, cluster: string): Promise<void> {
  for (const { name } of lab.layout.clusters.filter((other) => other.name !== cluster))
    await eventually(`${cluster} to reach ${name} by encrypted tunnels`, async () => {
      const conditions = await conditionsOf(lab, cluster, 'remotecluster', name);
      const isTrue = (wanted: string): boolean =>
        conditions.some(({ type, status }) => type === wanted && status === 'True');
      return ['Encrypted', 'Ready', 'PathsUp'].every(isTrue) || notYet(JSON.stringify(conditions));
    });
}

/** The address of a gateway within tunnels. */
export function tunnelAddressOf(lab: LabHandle, cluster: string, node: string): Promise<string> {
  return lab.kubectl(cluster, ['get', 'icgw', node, '-o', 'jsonpath={.status.wireGuard.address}']);
}

export interface UnderlayPackets {
  /** Tunnels between nodes of different clusters, and packets with addresses within tunnels, as tcpdump shows them. */
  readonly clear: readonly string[];
  readonly encrypted: readonly string[];
}

/** Captures packets of the network between the nodes, from now until `packets` is called. */
export async function watchUnderlay(lab: LabHandle): Promise<{ packets(): Promise<UnderlayPackets> }> {
  const [first, second] = lab.layout.clusters.map(({ address }) => address.replace(/\.\d+$/, '.0/24'));
  const filters = {
    clear: `(udp port 6081 and net ${first} and net ${second}) or net 100.126.0.0/16`,
    encrypted: 'udp port 51820',
  };
  const clear = await capture(lab.layout.netns, 'any', filters.clear);
  const encrypted = await capture(lab.layout.netns, 'any', filters.encrypted);
  return { packets: async () => ({ clear: await clear(), encrypted: await encrypted() }) };
}

/** Packets that match and pass the namespace of tunnels of a node while `work` runs. */
export async function packetsInTunnels(
  lab: LabHandle,
  place: string,
  filter: string,
  work: () => Promise<unknown>,
): Promise<readonly string[]> {
  const stop = await capture(join(lab.layout.dir, place, 'tunnels.netns'), 'any', `ip and (${filter})`);
  await work();
  return stop();
}

/** Starts a capture; the function ends it and returns its packets. `netns`: a name, or the path of a file. */
async function capture(netns: string, device: string, filter: string): Promise<() => Promise<readonly string[]>> {
  const path = netns.startsWith('/') ? netns : `/run/netns/${netns}`;
  const program = ['tcpdump', '-nn', '-e', '-l', '--immediate-mode', '-i', device, filter];
  const child = spawn('nsenter', [`--net=${path}`, '--', ...program], { stdio: ['ignore', 'pipe', 'pipe'] });
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (seen += text));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await eventually(`tcpdump in ${netns}`, () => said.includes('listening on') || notYet(said));
  return async () => {
    child.kill('SIGINT');
    await once(child, 'close');
    return seen.split('\n').filter((line) => line !== '');
  };
}

export async function sendDatagram(lab: LabHandle, netns: string, to: string): Promise<void> {
  await lab.exec(netns, ['sh', '-c', `echo x | socat -u - UDP:${to}`]);
}

/** Sends a stream of TCP from east to a pod of west; returns how many bytes arrived. */
export async function sentBytes(lab: LabHandle, address: string): Promise<number> {
  const listen = ['socat', '-u', `TCP-LISTEN:${listenPort},reuseaddr`, 'SYSTEM:wc -c'];
  const received = lab.exec(lab.ns('west', 'plain/one'), listen);
  const send = `head -c ${streamBytes} /dev/zero | socat -u - TCP:${address}:${listenPort},retry=50,interval=0.1`;
  await lab.exec(lab.ns('east', 'plain/one'), ['sh', '-c', send]);
  return Number(await received);
}

/** Sends a line of TCP from east to a pod of west every 20 ms while `work` runs. Returns how many were sent, and how many arrived. */
export async function whileSending(
  lab: LabHandle,
  address: string,
  work: () => Promise<unknown>,
): Promise<{ readonly sent: number; readonly received: number }> {
  const stop = join(lab.layout.dir, 'stop-sending');
  const listen = ['socat', '-u', `TCP-LISTEN:${listenPort},reuseaddr`, 'SYSTEM:wc -l'];
  const received = lab.exec(lab.ns('west', 'plain/one'), listen);
  const lines = `n=0; while [ ! -e ${stop} ]; do echo $n; n=$((n+1)); sleep 0.02; done; echo $n > ${stop}.count`;
  const send = `(${lines}) | socat -u - TCP:${address}:${listenPort},retry=50,interval=0.1; cat ${stop}.count`;
  const sent = lab.exec(lab.ns('east', 'plain/one'), ['sh', '-c', send]);
  try {
    await work();
  } finally {
    writeFileSync(stop, '');
  }
  const counts = { sent: Number(await sent), received: Number(await received) };
  for (const file of [stop, `${stop}.count`]) rmSync(file);
  return counts;
}

/** Keys of all gateways of a cluster, by node, as their daemons report them. */
export async function keysOf(lab: LabHandle, cluster: string): Promise<ReadonlyMap<string, GatewayWireGuard>> {
  const { items } = JSON.parse(await lab.kubectl(cluster, ['get', 'icgw', '-o', 'json'])) as {
    items: { metadata: { name: string }; status: { wireGuard: GatewayWireGuard } }[];
  };
  return new Map(items.map(({ metadata, status }) => [metadata.name, status.wireGuard]));
}

/** Peers of the WireGuard that runs on a node (`east/n1`) now. */
export async function peersOf(lab: LabHandle, place: string): Promise<readonly SeenPeer[]> {
  return (await readUapi(join(lab.layout.dir, place, 'wireguard/isthmus-wg.sock'))).peers;
}

/** Asks all gateways of a cluster for new keys. */
export async function askForKeys(lab: LabHandle, cluster: string, request: string): Promise<void> {
  const patch = JSON.stringify({ spec: { rotateKey: request } });
  for (const { name } of lab.cluster(cluster).nodes)
    await lab.kubectl(cluster, ['patch', 'icgw', name, '--type', 'merge', '-p', patch]);
}

/** Gives packets of WireGuard that leave a node another source, `address:port`, as a router before it would. */
export async function translate(lab: LabHandle, { netns }: { readonly netns: string }, to: string): Promise<void> {
  const [address = ''] = to.split(':');
  const rules = [
    'add table ip translated',
    'delete table ip translated',
    'add table ip translated',
    'add chain ip translated out { type nat hook postrouting priority 100; }',
    `add rule ip translated out udp sport 51820 snat to ${to}`,
  ];
  // The node answers ARP for it.
  const commands = [`ip addr replace ${address}/32 dev lo`, `nft -f - <<END\n${rules.join('\n')}\nEND`, 'conntrack -F'];
  await lab.exec(netns, ['sh', '-c', commands.join('\n')]);
}
