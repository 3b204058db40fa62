/**
 * Flows of the integration bridge by which ports drop what they are not to pass. In: what each port drops. Out: flows in front of
 * those of ovn-controller, in one bundle after each change. ovn-controller deletes all flows of the bridge when it starts: Open vSwitch
 * tells of that, and they are put in again. Flows stay when this process ends, and a new one replaces them all at once.
 */
import { randomInt } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/run/logger.ts';
import type { PacketMatch } from '../model/packet-match.ts';
import {
  addDrop,
  askForRemovals,
  bundle,
  bundleAdd,
  bundleControl,
  deleteFlows,
  message,
  messageType,
  readBundleControl,
  readMessages,
  removedCookie,
  showPortsOfFirstPieces,
  type Message,
} from './openflow-codec.ts';

/** By numbers of ports in OpenFlow. */
type Drops = ReadonlyMap<number, readonly PacketMatch[]>;

export interface PortFlowsOptions {
  /** Socket of the bridge. */
  readonly path: string;
  readonly log: Pick<Logger, 'warn'>;
}

/** Cookies: `isth`, the bundle that added the flow, the port. */
const ours = 0x69737468n << 32n;
const ofOurs = 0xffff_ffffn << 32n;
const bundlesKept = 0x1_0000;
const retryMs = 100;
/** ovn-controller reads the bridge's setting and writes it back when it connects, and may write back a former one. */
const settingMs = 5_000;

export class PortFlows {
  readonly #options: PortFlowsOptions;
  readonly #stop = new AbortController();
  readonly #wanted = new Map<number, readonly PacketMatch[]>();
  /** In the bridge, by port: what, and since which bundle. */
  readonly #there = new Map<number, { readonly drops: readonly PacketMatch[]; readonly bundle: number }>();
  readonly #listeners = new Set<() => void>();
  #socket: Socket | undefined;
  /** The bundle under way. */
  #sent: { readonly id: number; readonly drops: Drops; readonly isAll: boolean } | undefined;
  /** Another start than the last process had, whose flows are told of, too. */
  #bundles = randomInt(bundlesKept);
  /** Nothing is known yet of what the bridge has. */
  #isFresh = true;
  #isSet = false;

  constructor(options: PortFlowsOptions) {
    this.#options = options;
    void this.#run();
  }

  /** The same array for what is the same. */
  set(drops: Drops): void {
    for (const port of this.#wanted.keys()) if (!drops.has(port)) this.#wanted.delete(port);
    for (const [port, matches] of drops) this.#wanted.set(port, matches);
    this.#isSet = true;
    this.#send();
  }

  /** Whether a port drops what it is to. */
  isInForce(port: number): boolean {
    const wanted = this.#wanted.get(port);
    return wanted !== undefined && this.#there.get(port)?.drops === wanted;
  }

  /** Called after each change of what is in force. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#stop.abort();
    this.#socket?.destroy();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let told: string | undefined;
    while (!signal.aborted) {
      const end = await this.#connection();
      if (signal.aborted) return;
      // Open vSwitch makes the socket with the bridge, and both anew when it starts.
      if (end !== told) this.#options.log.warn({ socket: this.#options.path }, `flows of ports: ${end}; trying again`);
      told = end;
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** From its start to its end, which is said in words. */
  #connection(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const socket = connect(this.#options.path);
    let bytes: Buffer = Buffer.alloc(0);
    let reason = 'the connection to the bridge ended';
    const keepSetting = setInterval(() => {
      if (this.#socket === socket) socket.write(showPortsOfFirstPieces());
    }, settingMs).unref();
    socket.on('connect', () => socket.write(message(messageType.hello)));
    socket.on('data', (chunk: Buffer) => {
      const { messages, rest } = readMessages(Buffer.concat([bytes, chunk]));
      bytes = rest;
      for (const one of messages) this.#take(socket, one);
    });
    socket.on('error', (error) => {
      reason = error.message;
    });
    socket.on('close', () => {
      clearInterval(keepSetting);
      this.#socket = undefined;
      this.#sent = undefined;
      this.#isFresh = true;
      this.#there.clear();
      resolve(reason);
    });
    return promise;
  }

  #take(socket: Socket, one: Message): void {
    if (one.type === messageType.hello) {
      socket.write(Buffer.concat([askForRemovals(), showPortsOfFirstPieces()]));
      this.#socket = socket;
      this.#send();
    } else if (one.type === messageType.echoRequest) socket.write(message(messageType.echoReply, one.body, one.xid));
    else if (one.type === messageType.flowRemoved) this.#removed(removedCookie(one));
    else if (one.type === messageType.bundleControl) this.#committed(readBundleControl(one));
    else if (one.type === messageType.error)
      socket.destroy(new Error(`the bridge refused them, OpenFlow error ${one.body.subarray(0, 4).toString('hex')}`));
  }

  /** A flow went away; where it is not one that a later bundle replaced, somebody took it. */
  #removed(cookie: bigint): void {
    if ((cookie & ofOurs) !== ours) return;
    const [port, bundleId] = [Number(cookie & 0xffffn), Number((cookie >> 16n) & 0xffffn)];
    if (this.#there.get(port)?.bundle !== bundleId) return;
    this.#there.delete(port);
    this.#send();
  }

  #committed({ id, type }: { readonly id: number; readonly type: number }): void {
    if (type !== bundle.committed || this.#sent?.id !== id) return;
    const { drops, isAll } = this.#sent;
    this.#sent = undefined;
    this.#isFresh = false;
    if (isAll) this.#there.clear();
    for (const [port, matches] of drops) {
      if (matches.length === 0) this.#there.delete(port);
      else this.#there.set(port, { drops: matches, bundle: id });
    }
    for (const listener of this.#listeners) listener();
    this.#send();
  }

  /** What differs, once the bundle before is done. */
  #send(): void {
    const socket = this.#socket;
    if (socket === undefined || this.#sent !== undefined || !this.#isSet) return;
    const isAll = this.#isFresh;
    const drops = isAll ? new Map(this.#wanted) : this.#difference();
    if (!isAll && drops.size === 0) return;
    this.#bundles = (this.#bundles + 1) % bundlesKept;
    const id = this.#bundles;
    this.#sent = { id, drops, isAll };
    const bytes = [bundleControl(id, bundle.open)];
    const add = (inner: Buffer): number => bytes.push(bundleAdd(id, inner));
    if (isAll) add(deleteFlows(ours, ofOurs));
    for (const [port, matches] of drops) {
      if (!isAll) add(deleteFlows(ours | BigInt(port), ofOurs | 0xffffn));
      const cookie = ours | (BigInt(id) << 16n) | BigInt(port);
      for (const match of matches) add(addDrop({ inPort: port, match, cookie }));
    }
    bytes.push(bundleControl(id, bundle.commit));
    socket.write(Buffer.concat(bytes));
  }

  /** Ports that are to drop something else, or nothing any more. */
  #difference(): Drops {
    const drops = new Map<number, readonly PacketMatch[]>();
    for (const port of this.#there.keys()) if (!this.#wanted.has(port)) drops.set(port, []);
    for (const [port, matches] of this.#wanted) if (!this.isInForce(port)) drops.set(port, matches);
    return drops;
  }
}
