/** Runs programs to completion: arguments are arrays, and the error of a failed program contains its standard error. */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** CPU priority: `first` goes before all other processes, `second` before all but those. */
export type Place = 'first' | 'second';
const niceOf: Readonly<Record<Place, number>> = { first: -20, second: -15 };

export interface RunOptions {
  /** Network namespace to run in; the root namespace by default. */
  readonly netns?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Ends the program after its first line of output, which is success. */
  readonly isDoneByLine?: boolean;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `nsenter` changes only the network; `ip netns exec` would also remount /sys and hide later namespaces. */
export function inNetns(netns: string | undefined, argv: readonly string[]): readonly string[] {
  return netns === undefined ? argv : ['nsenter', `--net=/run/netns/${netns}`, '--', ...argv];
}

/** Sets the CPU priority of a process that was just started as leader of a session. */
export function letGo(pid: number, place: Place): void {
  const nice = niceOf[place];
  setPriority(pid, nice);
  // With autogroup scheduling, a nice value counts only within the session; that of the session counts between sessions.
  const session = `/proc/${String(pid)}/autogroup`;
  if (existsSync(session)) writeFileSync(session, String(nice));
}

/** Runs a program and returns its output and any exit code. @throws Error if it cannot start or exceeds its timeout. */
export async function tryRun(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const [command = '', ...args] = inNetns(options.netns, argv);
  const child = spawn(command, args, {
    env: { ...process.env, ...options.env },
    stdio: 'pipe',
    timeout: options.timeoutMs ?? 60_000,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  let isDone = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    isDone ||= options.isDoneByLine === true && stdout.includes('\n');
    if (isDone) child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // The exit code decides about a program that exits without reading its input, not the broken pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', (cause) => reject(new Error(`cannot run ${argv.join(' ')}: ${cause.message}`, { cause })));
    child.on('close', (exit, signal) => {
      if (isDone) resolve(0);
      else if (exit === null)
        reject(
          new Error(`${argv.join(' ')}: ended by ${String(signal)}${signal === 'SIGKILL' ? ' (took too long)' : ''}`),
        );
      else resolve(exit);
    });
  });
  return { code, stdout, stderr };
}

/** Runs a program and gives its standard output. @throws Error with the command and its standard error unless it exits with 0. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await tryRun(argv, options);
  if (result.code === 0) return result.stdout;
  const output = (result.stderr || result.stdout).trim();
  throw new Error(
    `${inNetns(options.netns, argv).join(' ')}: exit ${String(result.code)}${output ? `: ${output}` : ''}`,
  );
}
