/** A router of the bed: FRR asked by its own socket, and the kernel's table that it fills. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import type { FrrPeer } from '../../system/bgp/frr.ts';
import type { Namespace } from '../../system/bgp/namespace.ts';
import { Vty } from '../../system/bgp/vty.ts';
import { prefixesOf, untilRoute } from '../router-polls.ts';

export interface Counters {
  readonly state: string;
  /** UPDATE messages of the node. */
  readonly updates: number;
  readonly established: number;
  readonly dropped: number;
}

export class Tor {
  readonly peer: FrrPeer;
  readonly #vty: Vty;

  private constructor(peer: FrrPeer, vty: Vty) {
    this.peer = peer;
    this.#vty = vty;
  }

  static async open(peer: FrrPeer): Promise<Tor> {
    return new Tor(peer, await Vty.open(vtyOf(peer)));
  }

  close(): void {
    this.#vty.close();
  }

  /** Its address on the link to the node, and the node's. */
  get address(): string {
    return this.peer.link.v4;
  }

  get nodeAddress(): string {
    return this.peer.link.nodeV4;
  }

  /** Prefixes of the node in bgpd. */
  count(): Promise<number> {
    return prefixesOf(this.#vty, this.nodeAddress);
  }

  async counters(): Promise<Counters> {
    const text = await this.#vty.command(`show bgp neighbors ${this.nodeAddress} json`);
    const found = (JSON.parse(text) as Readonly<Record<string, ShownNeighbor>>)[this.nodeAddress];
    return {
      state: found?.bgpState ?? '',
      updates: found?.messageStats.updatesRecv ?? 0,
      established: found?.connectionsEstablished ?? 0,
      dropped: found?.connectionsDropped ?? 0,
    };
  }

  /** When bgpd has the prefix from the node, or has it no more, by performance.now(). */
  until(prefix: string, isThere = true): Promise<number> {
    return untilRoute(this.#vty, prefix, this.nodeAddress, { isThere, everyMs: 0 });
  }

  /** When bgpd has so many prefixes of the node, by performance.now(). */
  async untilCount(count: number, timeoutMs = 60_000): Promise<number> {
    let found = -1;
    for (const end = performance.now() + timeoutMs; performance.now() < end; await pause(2)) {
      found = await this.count();
      if (found === count) return performance.now();
    }
    throw new Error(`waited ${timeoutMs / 1000} s for ${count} prefixes at ${this.peer.name}; it has ${found}`);
  }

  async untilEstablished(timeoutMs = 30_000): Promise<number> {
    for (const end = performance.now() + timeoutMs; performance.now() < end; await pause(20))
      if ((await this.counters()).state === 'Established') return performance.now();
    throw new Error(`waited ${timeoutMs / 1000} s for the session with ${this.peer.name}`);
  }
}

interface ShownNeighbor {
  readonly bgpState: string;
  readonly messageStats: { readonly updatesRecv: number };
  readonly connectionsEstablished: number;
  readonly connectionsDropped: number;
}

/** The socket of its bgpd. */
export function vtyOf({ dir }: FrrPeer): string {
  return join(dir, 'bgpd.vty');
}

/** Changes of the kernel's routing table in a namespace, with their times. */
export class KernelWatch {
  readonly #monitor: ChildProcess;
  readonly #at = new Map<string, number>();

  private constructor({ prefix }: Namespace) {
    const [command, ...args] = [...prefix, 'ip', 'monitor', 'route'];
    this.#monitor = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const lines = this.#monitor.stdout && createInterface({ input: this.#monitor.stdout });
    lines?.on('line', (line) => {
      const [word = '', next = ''] = line.split(' ');
      const isGone = word === 'Deleted';
      this.#at.set(`${isGone ? 'gone ' : ''}${isGone ? next : word}`, performance.now());
    });
  }

  static async open(namespace: Namespace): Promise<KernelWatch> {
    const watch = new KernelWatch(namespace);
    // It says nothing when it is ready; its socket shows.
    await pause(200);
    return watch;
  }

  /** When the address became a route or ceased to be one since it was last asked for, by performance.now(). */
  async until(address: string, isThere = true): Promise<number> {
    const key = isThere ? address : `gone ${address}`;
    for (const end = performance.now() + 15_000; performance.now() < end; await pause(1)) {
      const at = this.#at.get(key);
      this.#at.delete(key);
      if (at !== undefined) return at;
    }
    throw new Error(`waited 15 s for the kernel of the router to learn of ${address}`);
  }

  close(): void {
    this.#monitor.kill();
  }
}

/** Fewest routes of a kernel's table over some time, looked at every three milliseconds. */
export class KernelCount {
  readonly #file: string;
  #isOver = false;
  #fewest = Number.POSITIVE_INFINITY;
  #longestMs = 0;
  #looks: Promise<void> | undefined;

  /** @param pid of a process in the network namespace */
  constructor(pid: number) {
    this.#file = `/proc/${String(pid)}/net/fib_triestat`;
  }

  /** All prefixes of the namespace, its own addresses among them. */
  now(): number {
    return Number(/Prefixes:\s+(\d+)/.exec(readFileSync(this.#file, 'utf8'))?.[1]);
  }

  start(): void {
    this.#looks = this.#look();
  }

  async #look(): Promise<void> {
    let last = performance.now();
    while (!this.#isOver) {
      this.#fewest = Math.min(this.#fewest, this.now());
      this.#longestMs = Math.max(this.#longestMs, performance.now() - last);
      last = performance.now();
      await pause(3);
    }
  }

  async stop(): Promise<{ readonly fewest: number; readonly longestMs: number }> {
    this.#isOver = true;
    await this.#looks;
    return { fewest: this.#fewest, longestMs: this.#longestMs };
  }
}
