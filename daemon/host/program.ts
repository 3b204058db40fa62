/** Runs a program with its arguments as an array, never through a shell. */
import { execFile } from 'node:child_process';

const timeoutMs = 10_000;

export class ProgramError extends Error {
  readonly code = 'ProgramFailed';
}

/** Returns stdout. @throws ProgramError with stderr if the program fails or takes longer than 10 s. */
export function run(program: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { timeout: timeoutMs, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else {
        const why =
          error.killed === true ? `it did not end within ${timeoutMs / 1000} s` : stderr.trim() || error.message;
        reject(new ProgramError(`${program} ${args.join(' ')}: ${why}`, { cause: error }));
      }
    });
    // The program may end before it has read everything; its exit status says why.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}
