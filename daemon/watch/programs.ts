/**
 * Whether ovs-vswitchd and ovn-controller are alive. In: the folders of their control sockets. Out: a Liveness of each,
 * decided by plan/liveness.ts, and a call of the subscribers when one turns. A question goes through the main loop of the
 * program, so that a frozen one is found too; Open vSwitch itself would tell nobody. Pid files are not read: in
 * containers they have the pids of another namespace, and the sockets' names suffice.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/run/logger.ts';
import { controlSockets } from '../../lib/ovn/unixctl.ts';
import { nextLiveness, startLiveness, type Liveness } from '../settle/program-liveness.ts';
import { periodMs, type Answer, type DownProgram, type Program } from '../model/program.ts';

export interface ProgramWatchOptions {
  /** Of the control sockets; a program without one is not asked. */
  readonly folders: ReadonlyMap<Program, string>;
  /** Reason of the Node's NetworkUnavailable condition at the start. */
  readonly reason: string | undefined;
  readonly log: Pick<Logger, 'info'>;
  /** Milliseconds from one question to the next, and until an answer is late. */
  readonly timing?: { readonly periodMs: number; readonly timeoutMs: number };
}

const defaultTiming = { periodMs, timeoutMs: 1000 };
const question = JSON.stringify({ method: 'version', params: [], id: 0 });

export class ProgramWatch {
  readonly #options: ProgramWatchOptions;
  readonly #states = new Map<Program, Liveness>();
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  /** Resolves when each program was asked once. */
  readonly asked: Promise<void>;

  constructor(options: ProgramWatchOptions) {
    this.#options = options;
    const programs = [...options.folders];
    for (const [program] of programs) this.#states.set(program, startLiveness(program, options.reason));
    const first = programs.map(async ([program, folder]) => {
      const answer = await this.#ask(program, folder);
      if (answer === 'unreachable')
        options.log.info(
          { program, folder },
          `${program} is not watched: ${folder} with its control socket is not visible here; mount it, or correct --ovs-rundir`,
        );
      void this.#goOn(program, folder);
    });
    this.asked = Promise.all(first).then(() => undefined);
  }

  /** Those of which it is known, with whether they are up. */
  get known(): readonly (readonly [program: Program, isUp: boolean])[] {
    return [...this.#states].flatMap(([program, { state }]) =>
      state === 'unknown' ? [] : [[program, state === 'up'] as const],
    );
  }

  get down(): readonly DownProgram[] {
    const { folders } = this.#options;
    return [...folders].flatMap(([program, folder]) =>
      this.#states.get(program)?.state === 'down' ? [{ program, folder }] : [],
    );
  }

  /** Called when a program goes down or is back. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#stop.abort();
  }

  async #goOn(program: Program, folder: string): Promise<void> {
    const { signal } = this.#stop;
    const timing = this.#options.timing ?? defaultTiming;
    for (let startMs = performance.now(); ;) {
      const pauseMs = Math.max(0, startMs + timing.periodMs - performance.now());
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      startMs = performance.now();
      await this.#ask(program, folder);
    }
  }

  async #ask(program: Program, folder: string): Promise<Answer> {
    const answer = await askProgram(program, folder, (this.#options.timing ?? defaultTiming).timeoutMs);
    const before = this.#states.get(program);
    if (before === undefined || this.#stop.signal.aborted) return answer;
    const next = nextLiveness(program, before, answer);
    this.#states.set(program, next);
    if (next.state !== before.state) for (const listener of this.#listeners) listener();
    return answer;
  }
}

/** Sockets that killed processes left are asked as well: one that answers is enough. */
async function askProgram(program: Program, folder: string, timeoutMs: number): Promise<Answer> {
  let sockets: readonly string[];
  try {
    sockets = await controlSockets(program, folder);
  } catch {
    return 'unreachable';
  }
  const answers = new Set(await Promise.all(sockets.map((socket) => askSocket(socket, timeoutMs))));
  return (['answered', 'silent', 'refused', 'unreachable'] as const).find((answer) => answers.has(answer)) ?? 'missing';
}

function askSocket(path: string, timeoutMs: number): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const finish = (answer: Answer): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // Where this process itself was held up, an answer that lies in the socket by now is read first.
    const timer = setTimeout(() => setImmediate(() => finish('silent')), timeoutMs);
    socket.once('connect', () => socket.write(question));
    // What the version is does not matter, only that the main loop answered.
    socket.once('data', () => finish('answered'));
    socket.on('error', (error: NodeJS.ErrnoException) => finish(answerOf(error.code)));
    socket.once('close', () => finish('refused'));
  });
}

function answerOf(code: string | undefined): Answer {
  // The queue of a frozen program's socket is full of earlier questions.
  if (code === 'EAGAIN') return 'silent';
  return code === 'EACCES' || code === 'EPERM' ? 'unreachable' : 'refused';
}
