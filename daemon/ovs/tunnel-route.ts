/**
 * The route of Open vSwitch's userspace datapath to addresses within tunnels. It copies the routes of the kernel, and forgets all of them for a
 * moment whenever one changes: in that moment packets would follow the default route, in the clear. A route that was added by hand stays. It is
 * in the memory of ovs-vswitchd only.
 */
import { callAll, callProgram, controlSockets } from '../../lib/ovn/unixctl.ts';

export interface TunnelRoute {
  readonly cidr: string;
  readonly bridge: string;
  readonly gateway: string;
  /** The address of the bridge, which Open vSwitch chooses for tunnels without a source of their own. */
  readonly source: string;
}

const program = 'ovs-vswitchd';
const timeoutMs = 2000;

/** Adds the route if it is missing or has another source. @throws Error if ovs-vswitchd does not answer or refuses */
export async function keepTunnelRoute(folder: string, { cidr, bridge, gateway, source }: TunnelRoute): Promise<void> {
  const words = ['User:', cidr, 'dev', bridge, 'GW', gateway, 'SRC', source];
  if ((await shownRoutes(folder)).some((line) => isSame(line, words))) return;
  await callAll(program, folder, 'ovs/route/add', [cidr, bridge, gateway], timeoutMs);
}

export interface TunnelNeighbour {
  readonly bridge: string;
  readonly address: string;
  readonly mac: string;
}

/**
 * Sets the MAC address behind the route. Open vSwitch asks for it with the source of the tunnel, and takes no answer to an address that the
 * bridge does not have. It forgets what it has not used for a while. @throws Error if ovs-vswitchd does not answer or refuses
 */
export async function keepTunnelNeighbour(folder: string, { bridge, address, mac }: TunnelNeighbour): Promise<void> {
  await callAll(program, folder, 'tnl/neigh/set', [bridge, address, mac], timeoutMs);
}

/** Removes the route; does nothing if there is none. @throws Error if ovs-vswitchd refuses */
export async function removeTunnelRoute(folder: string, cidr: string): Promise<void> {
  const isThere = (await shownRoutes(folder)).some((line) => isSame(line, ['User:', cidr]));
  if (isThere) await callAll(program, folder, 'ovs/route/del', [cidr], timeoutMs);
}

/** Killed processes leave sockets that do not answer. */
async function shownRoutes(folder: string): Promise<readonly string[]> {
  const sockets = await controlSockets(program, folder);
  const answers = await Promise.allSettled(
    sockets.map((socket) => callProgram(socket, 'ovs/route/show', [], timeoutMs)),
  );
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.split('\n') : []));
}

function isSame(line: string, words: readonly string[]): boolean {
  const shown = line.split(/\s+/);
  return words.every((word, at) => shown[at] === word);
}
