/**
 * Messages that the kernel sends to groups of sockets, such as changes of links or of nftables. Where more come than the socket's buffer
 * holds, the kernel drops them. By default the next poll of the socket fails then, and the package `netlink` ends the process. So the
 * socket is set not to report it (NETLINK_NO_ENOBUFS), and the kernel's count of dropped messages is compared after each burst of messages:
 * messages are only dropped while others wait to be read.
 */
import { readdirSync } from 'node:fs';
import koffi from 'koffi';
import type { NetlinkMessage } from 'netlink';
import { openSocket } from './socket.ts';

export interface EventsOptions {
  readonly protocol: number;
  readonly groups: readonly number[];
  readonly onMessages: (messages: readonly NetlinkMessage[]) => void;
  /** Called if messages were dropped, or if one cannot be parsed: anything may have changed. */
  readonly onLoss: () => void;
  /** Of the socket. A process without CAP_NET_ADMIN gets as many as net.core.rmem_max allows. */
  readonly bufferBytes?: number;
}

export interface Events {
  close(): void;
}

/** Holds the messages of a transaction that writes ten thousand Services. It takes memory only while messages wait. */
const defaultBufferBytes = 8 << 20;
const AF_NETLINK = 16;
const [SOL_SOCKET, SOL_NETLINK] = [1, 270];
const [SO_RCVBUFFORCE, SO_PROTOCOL, SO_MEMINFO, NETLINK_NO_ENOBUFS] = [33, 38, 55, 5];
/** SK_MEMINFO_VARS, and SK_MEMINFO_DROPS among them. */
const memoryFigures = 9;
const dropped = 8;
/** A transaction of nftables is tens of thousands of messages, and each check is a call of the kernel. */
const checkAfterMs = 1;

const libc = koffi.load('libc.so.6');
type Call = (fd: number, ...args: readonly unknown[]) => number;
const getsockname = libc.func('int getsockname(int fd, void *address, void *length)') as Call;
const getsockopt = libc.func('int getsockopt(int fd, int level, int option, void *value, void *length)') as Call;
const setsockopt = libc.func('int setsockopt(int fd, int level, int option, void *value, uint32_t length)') as Call;

export function openEvents(options: EventsOptions): Events {
  const { protocol, groups, onMessages, onLoss, bufferBytes = defaultBufferBytes } = options;
  const socket = openSocket(protocol);
  const fd = descriptorOf(protocol, socket.address().port);
  if (setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, words(1), 4) !== 0)
    throw new Error(`NETLINK_NO_ENOBUFS of netlink protocol ${protocol} was refused`);
  // Otherwise the socket keeps the buffer that it was opened with.
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, words(bufferBytes), 4);
  let known = 0;
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    timer = undefined;
    const count = optionOf(fd, SO_MEMINFO, memoryFigures)[dropped] ?? 0;
    if (count === known) return;
    known = count;
    onLoss();
  };
  socket.on('message', (messages) => {
    timer ??= setTimeout(check, checkAfterMs).unref();
    onMessages(messages);
  });
  for (const event of ['invalid', 'error'] as const) socket.on(event, onLoss);
  for (const group of groups) socket.addMembership(group);
  return {
    close: () => {
      clearTimeout(timer);
      socket.close();
    },
  };
}

/** The package tells the port of a socket, but not its descriptor. */
function descriptorOf(protocol: number, port: number): number {
  const address = words(0, 0, 0);
  for (const fd of readdirSync('/proc/self/fd').map(Number).toReversed()) {
    if (getsockname(fd, address, words(address.byteLength)) !== 0) continue;
    const [family = 0, ownPort] = address;
    if ((family & 0xffff) === AF_NETLINK && ownPort === port && optionOf(fd, SO_PROTOCOL, 1)[0] === protocol) return fd;
  }
  throw new Error(`no descriptor has port ${port} of netlink protocol ${protocol}`);
}

function optionOf(fd: number, option: number, count: number): Uint32Array {
  const value = new Uint32Array(count);
  getsockopt(fd, SOL_SOCKET, option, value, words(value.byteLength));
  return value;
}

function words(...values: readonly number[]): Uint32Array {
  return Uint32Array.from(values);
}
