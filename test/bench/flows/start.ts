/** Runs flows.ts in namespaces of the lab: an echo server at the destination, a sender at the source. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { node24 } from '../../lab/rooms.ts';
import { inNetns, letGo } from '../../lab/run.ts';
import type { FlowReport } from './report.ts';

export interface FlowEnds {
  /** Network namespaces. */
  readonly from: string;
  readonly to: string;
  /** Address of the echo server. */
  readonly address: string;
}

export interface FlowOptions {
  readonly udp?: number;
  readonly tcp?: number;
  readonly intervalMs?: number;
  /** Must differ between concurrent flows to one namespace. */
  readonly port?: number;
}

export interface Flows {
  /** Stops the flows and returns their report. */
  stop(): Promise<FlowReport>;
}

const program = join(import.meta.dirname, '../flows.ts');

class Part {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #waiting: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  readonly #what: string;
  #errors = '';

  constructor(netns: string, args: readonly string[]) {
    this.#what = `flows.ts ${args.join(' ')} in ${netns}`;
    const [command = '', ...argv] = inNetns(netns, [node24, program, ...args]);
    this.#child = spawn(command, argv, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    // High priority: the flows measure the network, not the load of this machine.
    letGo(this.#child.pid ?? 0, 'first');
    this.#ended = once(this.#child, 'close');
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    if (this.#child.stdout === null) throw new Error(`${this.#what}: no standard output`);
    this.#lines = createInterface(this.#child.stdout);
    this.#waiting = this.#lines[Symbol.asyncIterator]();
  }

  /** @throws Error with the program's output if it has exited. */
  async line(): Promise<unknown> {
    const next = await this.#waiting.next();
    if (next.done === true) throw new Error(`${this.#what} ended: ${this.#errors.trim() || 'it said nothing'}`);
    return JSON.parse(next.value);
  }

  end(): void {
    this.#child.stdin?.on('error', () => undefined).end();
  }

  async ended(): Promise<void> {
    this.#lines.close();
    await this.#ended;
  }
}

/** Resolves when every flow has been answered once. @throws Error if that takes longer than 30 seconds. */
export async function startFlows(ends: FlowEnds, options: FlowOptions = {}): Promise<Flows> {
  const { udp = 100, tcp = 0, intervalMs = 20, port = 7007 } = options;
  const echo = new Part(ends.to, ['echo', '--port', String(port)]);
  await echo.line();
  const counts = ['--udp', String(udp), '--tcp', String(tcp), '--interval', String(intervalMs)];
  const sender = new Part(ends.from, ['run', '--to', ends.address, '--port', String(port), ...counts]);
  const stop = async (): Promise<FlowReport> => {
    sender.end();
    try {
      return (await sender.line()) as FlowReport;
    } finally {
      echo.end();
      await Promise.all([sender.ended(), echo.ended()]);
    }
  };
  try {
    await sender.line();
  } catch (error) {
    echo.end();
    throw error;
  }
  return { stop };
}
