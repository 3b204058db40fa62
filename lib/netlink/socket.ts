/** Sockets of netlink(7), and one request on one of them. A socket belongs to the namespace it was opened in. */
import { getSystemErrorName } from 'node:util';
import { createNetlink, type NetlinkMessage, type NetlinkSocket, parseError, Protocol } from 'netlink';
import { NLM } from './message.ts';

export { Protocol } from 'netlink';
export type { NetlinkMessage, NetlinkSocket } from 'netlink';

/** The kernel's answer to one request; `code` is the errno's name: `EEXIST`, `ENODEV` … */
export class NetlinkError extends Error {
  readonly code: string;

  constructor(code: string, what: string) {
    super(`${what}: ${code}`);
    this.code = code;
  }
}

const requestTimeoutMs = 5000;
/** The package's message for a request without an answer, which has no error class of its own. */
const packageTimeout = 'Timeout has been reached';

/** Opens a socket, by default of rtnetlink(7). It does not keep the process running. */
export function openSocket(protocol: number = Protocol.ROUTE): NetlinkSocket {
  return createNetlink(protocol, { ref: false, recvBufferSize: 1 << 20, sendBufferSize: 0 });
}

/**
 * @param what the request, for the error
 * @throws NetlinkError if the kernel refuses; ETIMEDOUT if it does not answer for five seconds, as while it removes many
 * network namespaces; it may still execute the request
 */
export async function exchange(
  socket: NetlinkSocket,
  type: number,
  flags: number,
  body: readonly Buffer[],
  what: string,
): Promise<readonly NetlinkMessage[]> {
  const [messages] = await request(socket, type, flags, body, what);
  const first = messages[0];
  if (first?.type !== NLM.ERROR) return messages;
  const error = parseAnswer(first, what);
  if (error !== undefined) throw error;
  return [];
}

/** The refusal in an answer of type NLM.ERROR; undefined for an acknowledgement. */
export function parseAnswer({ data, flags }: NetlinkMessage, what: string): NetlinkError | undefined {
  const { errno } = parseError(data, flags);
  return errno === 0 ? undefined : new NetlinkError(getSystemErrorName(errno), what);
}

async function request(
  socket: NetlinkSocket,
  type: number,
  flags: number,
  body: readonly Buffer[],
  what: string,
): ReturnType<NetlinkSocket['request']> {
  try {
    return await socket.request(type, [...body], { flags, timeout: requestTimeoutMs, checkError: false });
  } catch (error) {
    const isLate = error instanceof Error && error.message === packageTimeout;
    throw isLate ? new NetlinkError('ETIMEDOUT', what) : error;
  }
}

/** A table of the kernel. Retries while the kernel is too busy to answer, as the caller would have to. @throws NetlinkError */
export async function patientDump(
  socket: NetlinkSocket,
  type: number,
  header: Buffer,
  what: string,
): Promise<readonly NetlinkMessage[]> {
  for (;;) {
    try {
      return await exchange(socket, type, NLM.DUMP, [header], what);
    } catch (error) {
      if (!(error instanceof NetlinkError) || error.code !== 'ETIMEDOUT') throw error;
    }
  }
}
