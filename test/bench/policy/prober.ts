/** Starts probe.ts in a network namespace, and speaks with it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { node24 } from '../../lab/rooms.ts';
import { inNetns, letGo } from '../../lab/run.ts';
import type { Arrivals, FlowAnswers, ProbeFlow, ProbeLine, ProbeRequest } from './probe.ts';

const program = join(import.meta.dirname, 'probe.ts');

export interface Probing {
  /** Resolves with the time at which every flow has been answered. */
  readonly answered: Promise<number>;
  /** Ends it. */
  end(): Promise<readonly FlowAnswers[]>;
}

export class Prober {
  readonly #child: ChildProcess;
  readonly #listeners = new Set<(line: ProbeLine) => void>();
  #next = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    // One for each line that is waited for.
    child.setMaxListeners(0);
    if (child.stdout === null) throw new Error('a program without output');
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text) as ProbeLine;
      for (const listener of this.#listeners) listener(line);
    });
  }

  /** It serves at the ports. */
  static async start(netns: string, ports: readonly number[]): Promise<Prober> {
    const [command = '', ...argv] = inNetns(netns, [node24, program, ...ports.map(String)]);
    const child = spawn(command, argv, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    // High priority: what is measured is the network, not the load of this machine.
    letGo(child.pid ?? 0, 'first');
    const prober = new Prober(child);
    await prober.#line((line) => ('ready' in line ? true : undefined));
    return prober;
  }

  /** Sends a datagram of each flow in every interval from now on. */
  begin(flows: readonly ProbeFlow[], everyMs = 1): Probing {
    const id = (this.#next += 1);
    const waiting = new Set(flows.keys());
    const answered = this.#line((line) => {
      if (!('first' in line) || line.first !== id) return undefined;
      waiting.delete(line.flow);
      return waiting.size === 0 ? line.atMs : undefined;
    });
    this.#say({ begin: id, flows, everyMs });
    return {
      answered,
      end: () => {
        const ended = this.#line((line) => ('ended' in line && line.ended === id ? line.flows : undefined));
        this.#say({ end: id });
        return ended;
      },
    };
  }

  /** Datagrams that have come from this address to this port so far. */
  async arrivals(address: string, port: number): Promise<Arrivals | undefined> {
    const counted = this.#line((line) => ('arrivals' in line ? line.arrivals : undefined));
    this.#say({ arrivals: true });
    return (await counted)[`${address} ${String(port)}`];
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
  }

  #say(request: ProbeRequest): void {
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
  }

  /** The first value that `read` gives of a line from now on. */
  #line<T>(read: (line: ProbeLine) => T | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const done = (): void => {
      this.#listeners.delete(listener);
      this.#child.off('close', onClose);
    };
    const listener = (line: ProbeLine): void => {
      const value = read(line);
      if (value === undefined) return;
      done();
      resolve(value);
    };
    const onClose = (): void => reject(new Error('a program that probes has ended'));
    this.#listeners.add(listener);
    this.#child.on('close', onClose);
    // A run that is stopped early has no reader of its first answers.
    promise.catch(() => undefined);
    return promise;
  }
}
