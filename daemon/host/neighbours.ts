/** Whether a neighbour answers on a link: makes the kernel resolve the address (ARP, neighbour discovery) and waits for the result. */
import * as wire from '../../lib/netlink/message.ts';
import { openEvents } from '../../lib/netlink/events.ts';
import { NLM, RTM } from '../../lib/netlink/message.ts';
import {
  exchange,
  NetlinkError,
  openSocket,
  type NetlinkMessage,
  type NetlinkSocket,
  Protocol,
} from '../../lib/netlink/socket.ts';
import { familyOf } from './rtnetlink-codec.ts';

const neighbourGroup = 3;
const NDA_DST = 1;
const NDA_LLADDR = 2;
const NTF_USE = 1;
const NUD = { REACHABLE: 0x02, STALE: 0x04, PROBE: 0x10, FAILED: 0x20, PERMANENT: 0x80 } as const;

/**
 * Returns the MAC address as soon as the neighbour answers, or undefined if `signal` aborts first. A permanent entry counts as an answer,
 * because the kernel does not resolve it. Works in the current network namespace.
 * @throws NetlinkError if there is no such link
 */
export async function resolveNeighbour(
  index: number,
  address: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const requests = openSocket();
  try {
    const known = await stateOf(requests, index, address);
    if (known !== undefined && (known & NUD.PERMANENT) !== 0) return 'permanent';
    const mac = await resolve(requests, { index, address, signal });
    // A failed entry would delay the first packets to a host that gets the address later.
    if (mac === undefined) await forget(requests, index, address);
    return mac;
  } finally {
    requests.close();
  }
}

async function resolve(
  requests: NetlinkSocket,
  { index, address, signal }: { readonly index: number; readonly address: string; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const wanted = wire.ipBytes(address);
  const send = (state: number, flags: number): Promise<unknown> =>
    exchange(requests, RTM.NEWNEIGH, NLM.CREATE, body(index, address, { state, flags }), `neighbour ${address}`);
  const ask = (): Promise<unknown> => send(0, NTF_USE);
  // A request of the neighbour itself makes its entry stale: the kernel would only probe it when a packet is sent, and not report it.
  const check = (): Promise<unknown> =>
    send(NUD.PROBE, 0).catch((error: unknown) => {
      // The entry has another state by now.
      if (!(error instanceof NetlinkError && error.code === 'EINVAL')) throw error;
      return ask();
    });
  const { promise, resolve: settle, reject } = Promise.withResolvers<string | undefined>();
  let isOver = false;
  const end = (mac: string | undefined): void => {
    isOver = true;
    settle(mac);
  };
  if (signal.aborted) return undefined;
  signal.addEventListener('abort', () => end(undefined), { once: true });
  const hear = ({ type, data }: NetlinkMessage): void => {
    if (isOver || type !== RTM.NEWNEIGH || wire.readU32(data, 4) !== index) return;
    const attributes = wire.readAttributes(data.subarray(12));
    if (attributes.get(NDA_DST)?.equals(wanted) !== true) return;
    const state = wire.readU16(data, 8);
    if ((state & NUD.REACHABLE) !== 0) end(wire.macText(attributes.get(NDA_LLADDR) ?? Buffer.alloc(0)));
    // The kernel gives up after three requests, but the network may need longer to learn where the node is now.
    else if ((state & NUD.FAILED) !== 0) void ask().catch(reject);
    else if ((state & NUD.STALE) !== 0) void check().catch(reject);
  };
  // Subscribed before the first request: another program's packet may resolve the address at the same time, and the kernel reports it only once.
  const events = openEvents({
    protocol: Protocol.ROUTE,
    groups: [neighbourGroup],
    onMessages: (messages) => {
      for (const message of messages) hear(message);
    },
    onLoss: () => void check().catch(reject),
  });
  try {
    // An old entry does not prove that the neighbour answers now.
    void forget(requests, index, address).then(ask).catch(reject);
    return await promise;
  } finally {
    events.close();
  }
}

async function stateOf(socket: NetlinkSocket, index: number, address: string): Promise<number | undefined> {
  try {
    const [message] = await exchange(socket, RTM.GETNEIGH, 0, body(index, address), `neighbour ${address}`);
    return message && wire.readU16(message.data, 8);
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function forget(socket: NetlinkSocket, index: number, address: string): Promise<void> {
  await exchange(socket, RTM.DELNEIGH, 0, body(index, address), `neighbour ${address}`).catch((error: unknown) => {
    if (!(error instanceof NetlinkError && error.code === 'ENOENT')) throw error;
  });
}

/** struct ndmsg with NDA_DST. */
function body(index: number, address: string, { state, flags } = { state: 0, flags: 0 }): readonly Buffer[] {
  const header = Buffer.concat([
    Buffer.from([familyOf(address), 0, 0, 0]),
    wire.u32(index),
    wire.u16(state),
    Buffer.from([flags, 0]),
  ]);
  return [header, wire.attribute(NDA_DST, wire.ipBytes(address))];
}
