/**
 * Asks whether a host in a VLAN answers for an address, over an interface that carries tagged frames, such as that of a bridge. The node
 * needs no interface and no address in the VLAN, and the kernel no VLAN support. Each such interface has one socket, for as long as
 * there are questions.
 */
import { promisify } from 'node:util';
import koffi from 'koffi';
import { ipBytes, macBytes, macText, u16, u32 } from '../../lib/netlink/message.ts';
import { close, libc, openDescriptor, systemError } from './libc.ts';
import { readNeighbourAnswer, solicitationFrame, u16Network } from './solicitation.ts';

const AF_PACKET = 17;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
const SO_ATTACH_FILTER = 26;
const ETH_P_ALL = 3;
/** Time that a thread waits for a frame before it checks whether there are still questions. */
const receiveTimeoutUs = 100_000n;
const frameBytes = 2048;

koffi.struct('sock_fprog', { length: 'uint16_t', filter: 'void *' });

const bind = libc.func('int bind(int fd, const void *address, uint32_t length)') as BufferCall;
const setTimeoutOption = libc.func(
  'int setsockopt(int fd, int level, int name, const void *value, uint32_t length)',
) as (fd: number, level: number, name: number, value: Buffer, length: number) => number;
const attachFilter = libc.func(
  'int setsockopt(int fd, int level, int name, const sock_fprog *value, uint32_t length)',
) as (fd: number, level: number, name: number, value: object, length: number) => number;
const sendFrame = libc.func('intptr_t send(int fd, const void *data, size_t length, int flags)') as (
  fd: number,
  data: Buffer,
  length: number,
  flags: number,
) => number;
const receive = promisify(libc.func('intptr_t recv(int fd, _Out_ void *data, size_t length, int flags)').async) as (
  fd: number,
  data: Buffer,
  length: number,
  flags: number,
) => Promise<number>;

type BufferCall = (fd: number, value: Buffer, length: number) => number;

export interface VlanQuestion {
  /** Index of the interface. */
  readonly index: number;
  /** 1 to 4094. */
  readonly vlan: number;
  readonly address: string;
}

export class VlanNeighbours {
  readonly #prefix: Buffer;
  readonly #sockets = new Map<number, QuestionSocket>();

  /** @param macPrefix the first four bytes of MAC addresses that no interface has; the VLAN id completes the sender address of questions */
  constructor(macPrefix: string) {
    this.#prefix = macBytes(macPrefix);
  }

  /** Returns the MAC address of the answer, or undefined if `signal` aborts first. @throws Error with syscall and code */
  resolve({ index, vlan, address }: VlanQuestion, signal: AbortSignal): Promise<string | undefined> {
    const socket =
      this.#sockets.get(index) ?? new QuestionSocket(index, this.#prefix, () => this.#sockets.delete(index));
    this.#sockets.set(index, socket);
    const mac = macText(Buffer.concat([this.#prefix, u16Network(vlan)]));
    return socket.ask(solicitationFrame({ vlan, mac, address }), keyOf(mac, ipBytes(address)), signal);
  }
}

function keyOf(mac: string, address: Buffer): string {
  return `${mac} ${address.toString('hex')}`;
}

class QuestionSocket {
  readonly #fd: number;
  readonly #onEnd: () => void;
  readonly #asking = new Map<string, Set<(mac: string) => void>>();
  #isReceiving = false;

  /** @throws Error with syscall and code */
  constructor(index: number, prefix: Buffer, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#fd = openPacketSocket(index, prefix);
  }

  async ask(frame: Buffer, key: string, signal: AbortSignal): Promise<string | undefined> {
    const waiting = this.#asking.get(key) ?? new Set();
    this.#asking.set(key, waiting);
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    waiting.add(resolve);
    const end = (): void => resolve(undefined);
    signal.addEventListener('abort', end, { once: true });
    if (!this.#isReceiving) void this.#receive();
    try {
      if (signal.aborted) return undefined;
      if (sendFrame(this.#fd, frame, frame.length, 0) < 0) throw systemError('send');
      return await promise;
    } finally {
      signal.removeEventListener('abort', end);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#asking.delete(key);
    }
  }

  /** Runs until there are no more questions. If nothing can be received, the questions end by their own signals. */
  async #receive(): Promise<void> {
    this.#isReceiving = true;
    const frame = Buffer.alloc(frameBytes);
    while (this.#asking.size > 0) {
      const length = await receive(this.#fd, frame, frame.length, 0);
      if (length > 0) this.#take(frame.subarray(0, length));
    }
    this.#onEnd();
    close(this.#fd);
  }

  #take(frame: Buffer): void {
    const answer = readNeighbourAnswer(frame);
    if (answer === undefined) return;
    for (const settle of this.#asking.get(keyOf(answer.to, answer.address)) ?? []) settle(answer.mac);
  }
}

function openPacketSocket(index: number, prefix: Buffer): number {
  // The socket receives nothing before it is bound, and by then it has its filter.
  const fd = openDescriptor(AF_PACKET, SOCK_RAW_CLOEXEC, 0);
  const address = Buffer.concat([u16(AF_PACKET), u16Network(ETH_P_ALL), u32(index), Buffer.alloc(12)]);
  const [filter, timeout] = [toPrefix(prefix), timeval(receiveTimeoutUs)];
  const steps: readonly (readonly [string, () => number])[] = [
    ['setsockopt', () => attachFilter(fd, SOL_SOCKET, SO_ATTACH_FILTER, { length: filter.length / 8, filter }, 16)],
    ['setsockopt', () => setTimeoutOption(fd, SOL_SOCKET, SO_RCVTIMEO, timeout, timeout.length)],
    ['bind', () => bind(fd, address, address.length)],
  ];
  for (const [syscall, step] of steps) {
    if (step() === 0) continue;
    const error = systemError(syscall);
    close(fd);
    throw error;
  }
  return fd;
}

/** struct timeval of 64-bit systems. */
function timeval(us: bigint): Buffer {
  return Buffer.from(new BigInt64Array([us / 1_000_000n, us % 1_000_000n]).buffer);
}

/** A classic BPF program that passes only frames to MAC addresses with this prefix. */
function toPrefix(prefix: Buffer): Buffer {
  const instruction = (code: number, [ifTrue, ifFalse]: readonly [number, number], value: number): Buffer =>
    Buffer.concat([u16(code), Buffer.from([ifTrue, ifFalse]), u32(value)]);
  const [loadWord, jumpIfEqual, end] = [0x20, 0x15, 0x06];
  return Buffer.concat([
    instruction(loadWord, [0, 0], 0),
    instruction(jumpIfEqual, [0, 1], prefix.readUInt32BE()),
    instruction(end, [0, 0], frameBytes),
    instruction(end, [0, 0], 0),
  ]);
}
