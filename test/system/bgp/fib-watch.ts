import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { end } from './namespace.ts';
import { type Family, type Peer, prefixOf } from './peer.ts';

/** Watches the routes that a peer's kernel loses, with `ip monitor`, which reports even the shortest loss. */
export class FibWatch {
  readonly #child: ChildProcess;
  readonly #present: Set<string>;
  readonly #wanted: ReadonlySet<string>;
  /** The largest number of wanted routes that were missing at the same time. */
  mostMissing = 0;

  private constructor(child: ChildProcess, wanted: readonly string[], family: Family) {
    this.#child = child;
    this.#wanted = new Set(wanted);
    this.#present = new Set(wanted);
    if (child.stdout) createInterface(child.stdout).on('line', (line) => this.#onLine(line, family));
  }

  /** @param wanted prefixes that are in the kernel now */
  static async open(peer: Peer, wanted: readonly string[], family: Family = 4): Promise<FibWatch> {
    const [program = '', ...argv] = peer.namespace.prefix;
    const child = spawn(program, [...argv, 'ip', `-${family}`, '-o', 'monitor', 'route'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const watch = new FibWatch(child, wanted, family);
    await watch.#heard(peer, family);
    return watch;
  }

  async close(): Promise<void> {
    await end(this.#child);
  }

  /** Waits until the monitor reports a probe route, and so is listening. */
  async #heard(peer: Peer, family: Family): Promise<void> {
    const probe = family === 4 ? '203.0.113.77/32' : '2001:db8:77::/128';
    const { promise, resolve } = Promise.withResolvers<void>();
    const lines = this.#child.stdout;
    lines?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes(probe.split('/')[0] ?? '')) resolve();
    });
    const timer = setInterval(() => {
      peer.namespace.ip(`route replace blackhole ${probe}`, `route del blackhole ${probe}`);
    }, 20);
    await promise;
    clearInterval(timer);
  }

  #onLine(line: string, family: Family): void {
    const [, deleted, text = ''] = /^(Deleted )?(?:unicast |blackhole )?(\S+)/.exec(line) ?? [];
    const prefix = prefixOf(text, family);
    if (!this.#wanted.has(prefix)) return;
    if (deleted === undefined) this.#present.add(prefix);
    else this.#present.delete(prefix);
    this.mostMissing = Math.max(this.mostMissing, this.#wanted.size - this.#present.size);
  }
}
