/** A router of the bed: FRR asked by its own socket, and the kernel's table that it fills. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import type { Router } from '../../system/bgp-lab.ts';
import { inNetns } from '../../lab/run.ts';
import { Vty } from '../vty.ts';

export interface Counters {
  readonly state: string;
  /** UPDATE messages of the node. */
  readonly updates: number;
  readonly established: number;
  readonly dropped: number;
}

export class Tor {
  readonly router: Router;
  readonly #vty: Vty;

  constructor(router: Router) {
    this.router = router;
    this.#vty = new Vty(router.dir);
  }

  close(): void {
    this.#vty.close();
  }

  /** Prefixes of the node in bgpd. */
  async count(): Promise<number> {
    const answer = (await this.#vty.json('show bgp ipv4 unicast summary')) as {
      readonly peers?: Readonly<Record<string, { readonly pfxRcd?: number }>>;
    };
    return answer.peers?.[this.router.nodeV4]?.pfxRcd ?? 0;
  }

  async counters(): Promise<Counters> {
    const { nodeV4 } = this.router;
    const answer = (await this.#vty.json(`show bgp neighbors ${nodeV4}`)) as Readonly<
      Record<
        string,
        {
          readonly bgpState: string;
          readonly messageStats: { readonly updatesRecv: number };
          readonly connectionsEstablished: number;
          readonly connectionsDropped: number;
        }
      >
    >;
    const found = answer[nodeV4];
    return {
      state: found?.bgpState ?? '',
      updates: found?.messageStats.updatesRecv ?? 0,
      established: found?.connectionsEstablished ?? 0,
      dropped: found?.connectionsDropped ?? 0,
    };
  }

  /** When bgpd has the prefix from the node, or has it no more, by performance.now(). */
  async until(prefix: string, isThere = true): Promise<number> {
    return this.#vty.until(prefix, this.router.nodeV4, isThere, 0);
  }

  /** When bgpd has so many prefixes of the node, by performance.now(). */
  async untilCount(count: number, timeoutMs = 60_000): Promise<number> {
    let found = -1;
    for (const end = performance.now() + timeoutMs; performance.now() < end; await pause(2)) {
      found = await this.count();
      if (found === count) return performance.now();
    }
    throw new Error(`waited ${timeoutMs / 1000} s for ${count} prefixes at ${this.router.name}; it has ${found}`);
  }

  async untilEstablished(timeoutMs = 30_000): Promise<number> {
    for (const end = performance.now() + timeoutMs; performance.now() < end; await pause(20))
      if ((await this.counters()).state === 'Established') return performance.now();
    throw new Error(`waited ${timeoutMs / 1000} s for the session with ${this.router.name}`);
  }

  /** Ends all sessions, as an operator of the router would. */
  clear(): void {
    execFileSync('vtysh', ['--vty_socket', this.router.dir, '-c', 'clear bgp *'], { stdio: 'ignore' });
  }

  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Of bgpd. */
  get pid(): number {
    return Number(readFileSync(join(this.router.dir, 'bgpd.lock'), 'utf8'));
  }
}

/** What changes in the kernel's table of a namespace, and when. */
export class FibWatch {
  readonly #monitor: ChildProcess;
  readonly #at = new Map<string, number>();

  private constructor(netns: string) {
    const [command = '', ...args] = inNetns(netns, ['ip', 'monitor', 'route']);
    this.#monitor = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const lines = this.#monitor.stdout && createInterface({ input: this.#monitor.stdout });
    lines?.on('line', (line) => {
      const [word = '', next = ''] = line.split(' ');
      const isGone = word === 'Deleted';
      this.#at.set(`${isGone ? 'gone ' : ''}${isGone ? next : word}`, performance.now());
    });
  }

  static async open(netns: string): Promise<FibWatch> {
    const watch = new FibWatch(netns);
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
export class FibCount {
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
