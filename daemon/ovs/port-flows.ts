/**
 * Flows of the integration bridge that drop packets of ports, or copy them to this daemon, with a higher priority than those of ovn-controller. Each change is one
 * bundle. ovn-controller deletes all flows of the bridge when it starts; Open vSwitch reports that, and the flows are added again. Flows
 * stay when this process ends, and the next process replaces them all at once.
 */
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Logger } from '../../lib/run/logger.ts';
import type { PortRules } from '../model/packet-match.ts';
import {
  addCopy,
  addDrop,
  askForRemovals,
  bundle,
  bundleAdd,
  bundleControl,
  deleteFlows,
  messageType,
  readBundleControl,
  removedCookie,
  showPortsOfFirstPieces,
} from './openflow-codec.ts';
import { OpenflowConnection } from './openflow-connection.ts';

/** By OpenFlow port number. */
type Rules = ReadonlyMap<number, PortRules>;

/** The packets that flows copy are for connections with this id: `dn`. */
export const copyControllerId = 0x646e;
const nothing: PortRules = { drops: [], copies: [] };

export interface PortFlowsOptions {
  /** Path of the bridge's OpenFlow socket. */
  readonly path: string;
  readonly log: Pick<Logger, 'warn'>;
}

/** Layout of a cookie: `isth`, the bundle that added the flow, the port. */
const ours = 0x69737468n << 32n;
const ofOurs = 0xffff_ffffn << 32n;
const bundlesKept = 0x1_0000;
const retryMs = 100;
/** ovn-controller reads the setting of the bridge and writes it back when it connects, and may write back an older value. */
const settingMs = 5_000;

export class PortFlows {
  readonly #connection: OpenflowConnection;
  readonly #keepSetting: NodeJS.Timeout;
  readonly #wanted = new Map<number, PortRules>();
  /** The rules in the bridge by port, and the bundle that added them. */
  readonly #installed = new Map<number, { readonly rules: PortRules; readonly bundle: number }>();
  readonly #listeners = new Set<() => void>();
  #socket: Socket | undefined;
  /** The bundle that was sent and is not committed yet. */
  #sent: { readonly id: number; readonly rules: Rules; readonly isAll: boolean } | undefined;
  /** Starts at a random number, because removals of the last process's flows are reported, too. */
  #bundles = randomInt(bundlesKept);
  /** Whether the flows of the bridge are not known yet. */
  #isFresh = true;
  #isSet = false;

  constructor({ path, log }: PortFlowsOptions) {
    this.#connection = new OpenflowConnection({
      path,
      purpose: 'flows of ports',
      retryMs,
      log,
      onUp: (socket) => {
        socket.write(Buffer.concat([askForRemovals(), showPortsOfFirstPieces()]));
        this.#socket = socket;
        this.#send();
      },
      onMessage: (one) => {
        if (one.type === messageType.flowRemoved) this.#removed(removedCookie(one));
        else if (one.type === messageType.bundleControl) this.#committed(readBundleControl(one));
      },
      onDown: () => {
        this.#socket = undefined;
        this.#sent = undefined;
        this.#isFresh = true;
        this.#installed.clear();
      },
    });
    this.#keepSetting = setInterval(() => this.#socket?.write(showPortsOfFirstPieces()), settingMs).unref();
  }

  /** Equal rules must be the same object, because they are compared by identity. */
  set(rules: Rules): void {
    for (const port of this.#wanted.keys()) if (!rules.has(port)) this.#wanted.delete(port);
    for (const [port, one] of rules) this.#wanted.set(port, one);
    this.#isSet = true;
    this.#send();
  }

  /** Whether the bridge has the wanted flows of the port. */
  isInForce(port: number): boolean {
    const wanted = this.#wanted.get(port);
    return wanted !== undefined && this.#installed.get(port)?.rules === wanted;
  }

  /** Called after each committed bundle. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    clearInterval(this.#keepSetting);
    this.#connection.close();
  }

  /** A flow was removed. If no later bundle has replaced it, another program removed it. */
  #removed(cookie: bigint): void {
    if ((cookie & ofOurs) !== ours) return;
    const [port, bundleId] = [Number(cookie & 0xffffn), Number((cookie >> 16n) & 0xffffn)];
    if (this.#installed.get(port)?.bundle !== bundleId) return;
    this.#installed.delete(port);
    this.#send();
  }

  #committed({ id, type }: { readonly id: number; readonly type: number }): void {
    if (type !== bundle.committed || this.#sent?.id !== id) return;
    const { rules, isAll } = this.#sent;
    this.#sent = undefined;
    this.#isFresh = false;
    if (isAll) this.#installed.clear();
    for (const [port, one] of rules) {
      if (one === nothing) this.#installed.delete(port);
      else this.#installed.set(port, { rules: one, bundle: id });
    }
    for (const listener of this.#listeners) listener();
    this.#send();
  }

  /** Sends the difference, unless a bundle is still under way. */
  #send(): void {
    const socket = this.#socket;
    if (socket === undefined || this.#sent !== undefined || !this.#isSet) return;
    const isAll = this.#isFresh;
    const rules = isAll ? new Map(this.#wanted) : this.#difference();
    if (!isAll && rules.size === 0) return;
    this.#bundles = (this.#bundles + 1) % bundlesKept;
    const id = this.#bundles;
    this.#sent = { id, rules, isAll };
    const bytes = [bundleControl(id, bundle.open)];
    const add = (inner: Buffer): number => bytes.push(bundleAdd(id, inner));
    if (isAll) add(deleteFlows(ours, ofOurs));
    for (const [port, { drops, copies }] of rules) {
      if (!isAll) add(deleteFlows(ours | BigInt(port), ofOurs | 0xffffn));
      const cookie = ours | (BigInt(id) << 16n) | BigInt(port);
      for (const match of drops) add(addDrop({ inPort: port, match, cookie }));
      for (const match of copies) add(addCopy({ inPort: port, match, cookie }, copyControllerId));
    }
    bytes.push(bundleControl(id, bundle.commit));
    socket.write(Buffer.concat(bytes));
  }

  /** Ports whose rules must change. */
  #difference(): Rules {
    const rules = new Map<number, PortRules>();
    for (const port of this.#installed.keys()) if (!this.#wanted.has(port)) rules.set(port, nothing);
    for (const [port, one] of this.#wanted) if (!this.isInForce(port)) rules.set(port, one);
    return rules;
  }
}
