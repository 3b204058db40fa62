/**
 * Network namespaces without names, each with a PID namespace: when the test ends, even by a crash, the kernel ends everything that ran
 * in them. To look inside while a test is stopped: `nsenter -t <pid of the sleep> -n -p`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';

/** Kills a child and waits for its end. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  child.kill('SIGKILL');
  await promise;
}

/** Command prefix with which a child ends together with the test, even if the test is killed. */
export const withTest: readonly string[] = ['setpriv', '--pdeathsig', 'KILL', '--'];

export class Namespace {
  readonly name: string;
  readonly #holder: ChildProcess;
  /** The PID of the first process inside, in the outer PID namespace. */
  readonly pid: number;

  private constructor(name: string, holder: ChildProcess, pid: number) {
    this.name = name;
    this.#holder = holder;
    this.pid = pid;
  }

  static async open(name: string): Promise<Namespace> {
    const holder = startChild(['unshare', '--net', '--pid', '--fork', '--kill-child', '--', 'sleep', 'infinity']);
    const opened = new Namespace(name, holder, await childOf(holder));
    opened.ip('link set lo up');
    return opened;
  }

  /** Arguments before a command to run it in this network; the started process becomes the command. */
  get prefix(): readonly string[] {
    return [...withTest, 'nsenter', '-t', String(this.pid), '-n', '--'];
  }

  /** The output of a command in this network. */
  run(...argv: readonly string[]): string {
    return execFileSync('nsenter', ['-t', String(this.pid), '-n', '--', ...argv], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * 1024 * 1024,
    });
  }

  /** Runs lines of `ip -batch`. */
  ip(...lines: readonly string[]): void {
    execFileSync('nsenter', ['-t', String(this.pid), '-n', '--', 'ip', '-batch', '-'], {
      input: lines.join('\n'),
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  }

  /** Starts a program inside; its output goes to the file `log`. */
  async start(argv: readonly string[], log: string): Promise<Daemon> {
    const child = startChild(['nsenter', '-t', String(this.pid), '-n', '-p', '--', ...argv], log);
    return new Daemon(child, await childOf(child));
  }

  async close(): Promise<void> {
    await end(this.#holder);
  }
}

/** A program in a namespace. */
export class Daemon {
  readonly pid: number;
  /** The process that entered the namespace for the program; it stops and ends together with the program. */
  readonly #parent: ChildProcess;

  constructor(parent: ChildProcess, pid: number) {
    this.#parent = parent;
    this.pid = pid;
  }

  get isRunning(): boolean {
    return this.#parent.exitCode === null && this.#parent.signalCode === null;
  }

  /** Kills the program, like a crash. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#parent.once('exit', () => resolve());
    process.kill(this.pid, signal);
    await promise;
  }

  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
    this.#parent.kill('SIGCONT');
  }
}

export interface LinkEnd {
  readonly namespace: Namespace;
  readonly device: string;
  /** The addresses with prefix lengths. */
  readonly addresses: readonly string[];
}

/** Connects two namespaces with a veth pair. */
export function connect(left: LinkEnd, right: LinkEnd): void {
  const peer = `peer name ${right.device} netns ${right.namespace.pid}`;
  left.namespace.ip(`link add ${left.device} type veth ${peer}`);
  for (const { namespace, device, addresses } of [left, right]) {
    const nodad = (address: string) => (address.includes(':') ? ' nodad' : '');
    namespace.ip(
      ...addresses.map((address) => `addr add ${address} dev ${device}${nodad(address)}`),
      `link set ${device} up`,
    );
  }
}

function startChild(argv: readonly string[], log?: string): ChildProcess {
  const [program = '', ...rest] = [...withTest, ...argv];
  const output = log === undefined ? 'ignore' : openSync(log, 'a');
  const child = spawn(program, rest, { stdio: ['ignore', output, output] });
  if (typeof output === 'number') closeSync(output);
  return child;
}

async function childOf(parent: ChildProcess): Promise<number> {
  const pid = String(parent.pid);
  return eventuallyPasses(
    () => {
      if (parent.exitCode !== null) throw new Error(`${parent.spawnargs.join(' ')} ended at once`);
      return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]) || false;
    },
    undefined,
    5,
  ) as Promise<number>;
}
