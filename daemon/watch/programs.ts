/**
 * Asks ovs-vswitchd and ovn-controller on their control sockets, again and again, whether they are alive; `settle/program-liveness.ts`
 * decides what the answers mean. A question passes through the main loop of the program, so that a frozen program is found as well,
 * which Open vSwitch would not report. Pid files are not read: in containers they have the pids of another namespace, and the names
 * of the sockets suffice.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/run/logger.ts';
import { controlSockets } from '../../lib/ovn/unixctl.ts';
import { periodMs, type Answer, type Program } from '../model/program.ts';

export interface ProgramWatchOptions {
  /** Folders of the control sockets; a program without a folder is not asked. */
  readonly folders: ReadonlyMap<Program, string>;
  readonly onAnswer: (program: Program, answer: Answer) => void;
  readonly log: Pick<Logger, 'info'>;
  /** Milliseconds from one question to the next, and until an answer counts as late. */
  readonly timing?: { readonly periodMs: number; readonly timeoutMs: number };
}

const defaultTiming = { periodMs, timeoutMs: 1000 };
const question = JSON.stringify({ method: 'version', params: [], id: 0 });

export class ProgramWatch {
  readonly #options: ProgramWatchOptions;
  readonly #stop = new AbortController();
  /** Resolves once each program was asked. */
  readonly asked: Promise<void>;

  constructor(options: ProgramWatchOptions) {
    this.#options = options;
    const programs = [...options.folders];
    const first = programs.map(async ([program, folder]) => {
      const answer = await this.#ask(program, folder);
      if (answer === 'unreachable')
        options.log.info(
          { program, folder },
          `${program} is not watched: ${folder} with its control socket is not visible here; mount it, or correct --ovs-rundir`,
        );
      void this.#askAgain(program, folder);
    });
    this.asked = Promise.all(first).then(() => undefined);
  }

  close(): void {
    this.#stop.abort();
  }

  async #askAgain(program: Program, folder: string): Promise<void> {
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
    if (!this.#stop.signal.aborted) this.#options.onAnswer(program, answer);
    return answer;
  }
}

/** Killed processes leave their sockets behind; it is enough if one of all sockets answers. */
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
    // If this process was held up itself, an answer that has arrived in the socket meanwhile is read first.
    const timer = setTimeout(() => setImmediate(() => finish('silent')), timeoutMs);
    socket.once('connect', () => socket.write(question));
    // The version does not matter, only that the main loop answered.
    socket.once('data', () => finish('answered'));
    socket.on('error', (error: NodeJS.ErrnoException) => finish(answerOf(error.code)));
    socket.once('close', () => finish('refused'));
  });
}

function answerOf(code: string | undefined): Answer {
  // The socket queue of a frozen program is full of earlier questions.
  if (code === 'EAGAIN') return 'silent';
  return code === 'EACCES' || code === 'EPERM' ? 'unreachable' : 'refused';
}
