/** A program of this folder or of another benchmark in a network namespace; input and output are lines. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { node24 } from '../../lab/rooms.ts';
import { inNetns } from '../../lab/run.ts';

const patienceMs = 60_000;

export class PodProcess {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #argv: readonly string[];

  /** @param program absolute path of a module */
  constructor(netns: string, program: string, ...args: readonly (string | number)[]) {
    this.#argv = inNetns(netns, [node24, program, ...args.map(String)]);
    const [command = '', ...rest] = this.#argv;
    this.#child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('a program without output');
    this.#lines = createInterface(this.#child.stdout);
  }

  /** The next line. @throws Error if none comes in time */
  async next<T>(timeoutMs = patienceMs): Promise<T> {
    const signal = AbortSignal.timeout(timeoutMs);
    const [line] = (await once(this.#lines, 'line', { signal }).catch((cause: unknown) => {
      throw new Error(`no line within ${timeoutMs} ms: ${this.#argv.join(' ')}`, { cause });
    })) as [string];
    return JSON.parse(line) as T;
  }

  /** Sends a line, and waits for the next one of the output. */
  ask<T>(line: object, timeoutMs?: number): Promise<T> {
    const answer = this.next<T>(timeoutMs);
    this.#child.stdin?.write(`${JSON.stringify(line)}\n`);
    return answer;
  }

  /** Ends its input, and waits for its last line. */
  async end<T>(): Promise<T> {
    const line = this.next<T>();
    this.#child.stdin?.end();
    return await line;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
