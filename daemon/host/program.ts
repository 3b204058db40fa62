/** Runs a program with its arguments as an array, never through a shell. */
import { execFile } from 'node:child_process';
import type { Netns } from './netns.ts';

const timeoutMs = 10_000;
const longestOutput = 1 << 28;

export class ProgramError extends Error {
  readonly code = 'ProgramFailed';
}

export interface RunOptions {
  readonly timeoutMs?: number;
  /** Called with the id of the process. */
  readonly onStart?: (pid: number) => void;
  /** The network namespace that it runs in, by default that of the node. */
  readonly netns?: Netns;
}

/** Returns stdout. @throws ProgramError with stderr if the program fails or takes longer than the timeout, by default 10 s. */
export function run(
  program: string,
  args: readonly string[],
  input = '',
  { timeoutMs: timeout = timeoutMs, onStart, netns }: RunOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const start = () =>
      execFile(program, args, { timeout, maxBuffer: longestOutput }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else {
          const why =
            error.killed === true ? `it did not end within ${timeout / 1000} s` : stderr.trim() || error.message;
          reject(new ProgramError(`${program} ${args.join(' ')}: ${why}`, { cause: error }));
        }
      });
    // A process starts in the namespace of the thread that forks, which is this one.
    const child = netns === undefined ? start() : netns.run(start);
    if (child.pid !== undefined) onStart?.(child.pid);
    // The program may end before it has read everything; its exit status says why.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}
