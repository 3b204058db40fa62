/** Whether a neighbour answers on a link: the kernel is made to resolve its address (ARP, neighbour discovery) and tells what came of it. */
import * as wire from '../../lib/netlink/message.ts';
import { NLM, RTM } from '../../lib/netlink/message.ts';
import {
  exchange,
  NetlinkError,
  openSocket,
  type NetlinkMessage,
  type NetlinkSocket,
} from '../../lib/netlink/socket.ts';
import { familyOf } from './rtnetlink-codec.ts';

const neighbourGroup = 3;
const NDA_DST = 1;
const NDA_LLADDR = 2;
const NTF_USE = 1;
const NUD = { REACHABLE: 0x02, FAILED: 0x20, PERMANENT: 0x80 } as const;

/**
 * Its MAC address as soon as it answers, undefined when `signal` aborts before. An entry that an administrator made for
 * good counts as an answer: the kernel asks nobody for it. The sockets are of the network namespace this is called in.
 * @throws NetlinkError where there is no such link
 */
export async function whoAnswers(index: number, address: string, signal: AbortSignal): Promise<string | undefined> {
  const [requests, events] = [openSocket(), openSocket()];
  try {
    const known = await stateOf(requests, index, address);
    if (known !== undefined && (known & NUD.PERMANENT) !== 0) return 'permanent';
    // What the kernel remembers says nothing of now.
    if (known !== undefined) await forget(requests, index, address);
    const mac = await resolve(requests, events, { index, address, signal });
    // It would stand in the way of whoever comes to have the address.
    if (mac === undefined) await forget(requests, index, address);
    return mac;
  } finally {
    requests.close();
    events.close();
  }
}

function resolve(
  requests: NetlinkSocket,
  events: NetlinkSocket,
  { index, address, signal }: { readonly index: number; readonly address: string; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const wanted = wire.ipBytes(address);
  const ask = (): Promise<unknown> =>
    exchange(requests, RTM.NEWNEIGH, NLM.CREATE, body(index, address, NTF_USE), `neighbour ${address}`);
  return new Promise((settle, reject) => {
    if (signal.aborted) return settle(undefined);
    signal.addEventListener('abort', () => settle(undefined), { once: true });
    const hear = ({ type, data }: NetlinkMessage): void => {
      if (type !== RTM.NEWNEIGH || wire.readU32(data, 4) !== index) return;
      const attributes = wire.readAttributes(data.subarray(12));
      if (attributes.get(NDA_DST)?.equals(wanted) !== true) return;
      const state = wire.readU16(data, 8);
      const mac = attributes
        .get(NDA_LLADDR)
        ?.toString('hex')
        .replaceAll(/(..)(?!$)/g, '$1:');
      if ((state & NUD.REACHABLE) !== 0) settle(mac ?? '');
      // The kernel gives up after three questions; the network may need longer to see where the node is now.
      else if ((state & NUD.FAILED) !== 0) void ask().catch(reject);
    };
    events.on('message', (messages) => {
      for (const message of messages) hear(message);
    });
    events.addMembership(neighbourGroup);
    void ask().catch(reject);
  });
}

async function stateOf(socket: NetlinkSocket, index: number, address: string): Promise<number | undefined> {
  try {
    const [message] = await exchange(socket, RTM.GETNEIGH, 0, body(index, address, 0), `neighbour ${address}`);
    return message && wire.readU16(message.data, 8);
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function forget(socket: NetlinkSocket, index: number, address: string): Promise<void> {
  await exchange(socket, RTM.DELNEIGH, 0, body(index, address, 0), `neighbour ${address}`).catch((error: unknown) => {
    if (!(error instanceof NetlinkError && error.code === 'ENOENT')) throw error;
  });
}

/** struct ndmsg with NDA_DST. */
function body(index: number, address: string, flags: number): readonly Buffer[] {
  const header = Buffer.concat([
    Buffer.from([familyOf(address), 0, 0, 0]),
    wire.u32(index),
    wire.u16(0),
    Buffer.from([flags, 0]),
  ]);
  return [header, wire.attribute(NDA_DST, wire.ipBytes(address))];
}
