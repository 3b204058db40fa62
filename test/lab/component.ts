/**
 * Long-running processes of a lab. Each leaves `<name>.pid`, `<name>.log` and `<name>.cmd.json` (its recorded command
 * line) in its directory, so that a later command can kill, freeze, read or restart it. A process is known
 * by a variable in its environment, never by its pid alone: pids are reused.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { inNetns, letGo, type Place } from './run.ts';
import { eventually, notYet, type NotYet } from '../../lib/testing-eventually.ts';

export interface Component {
  readonly dir: string;
  readonly name: string;
  readonly netns?: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Started again by labd when it dies; the others stay dead until lab-heal. */
  readonly isSupervised?: boolean;
  /** It gets a core before the others, as if it had one of its own. */
  readonly goes?: Place;
  /** Socket files that an earlier run may have left and that the program does not remove by itself. */
  readonly staleFiles?: readonly string[];
}

export type ComponentState = 'running' | 'stopped' | 'dead';

const marker = 'ISTHMUS_LAB_PROCESS';

function identity(component: Pick<Component, 'dir' | 'name'>): string {
  return `${marker}=${component.dir}/${component.name}`;
}

/** Starts a component, detached from this process. @throws Error if it cannot be started. */
export async function startComponent(component: Component): Promise<number> {
  mkdirSync(component.dir, { recursive: true });
  writeWhole(join(component.dir, `${component.name}.cmd.json`), `${JSON.stringify(component, null, 1)}\n`);
  for (const file of component.staleFiles ?? []) rmSync(file, { force: true });
  const [command = '', ...args] = inNetns(component.netns, component.argv);
  const log = openSync(join(component.dir, `${component.name}.log`), 'a');
  const child = spawn(command, args, {
    detached: true,
    cwd: '/',
    stdio: ['ignore', log, log],
    env: environment(component),
  });
  closeSync(log);
  child.unref();
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(new Error(`cannot start ${component.argv.join(' ')}: ${cause.message}`, { cause })),
    );
  });
  if (component.goes !== undefined) letGo(child.pid ?? 0, component.goes);
  writeWhole(join(component.dir, `${component.name}.pid`), `${String(child.pid)}\n`);
  return child.pid ?? 0;
}

/** Writes a file so that a reader sees the old text or the new, never half of one. */
export function writeWhole(file: string, text: string, mode = 0o644): void {
  const next = `${file}.${String(process.pid)}.new`;
  writeFileSync(next, text, { mode });
  renameSync(next, file);
}

function environment(component: Component): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ['PATH', 'HOME', 'LANG', 'TMPDIR']) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return { ...kept, ...component.env, [marker]: identity(component).slice(marker.length + 1) };
}

/** Starts a component and waits until `isReady`. @throws Error with its last log lines. */
export async function startAndWait(
  component: Component,
  isReady: () => Promise<true | NotYet> | true | NotYet,
  timeoutMs = 60_000,
): Promise<void> {
  await startComponent(component);
  const look = () => (stateOf(component) === 'dead' ? 'dead' : isReady());
  const found = await eventually(`${component.name} in ${component.dir}`, look, timeoutMs, 50);
  if (found === 'dead') throw new Error(`${component.name} ended at once:\n${lastLines(component, 15)}`);
}

/** Whether a server listens: the file of a Unix socket exists a moment before. */
export function socketAnswers(path: string): () => Promise<true | NotYet> {
  return async () => {
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      return true;
    } catch (error) {
      return notYet(String(error));
    } finally {
      socket.destroy();
    }
  };
}

/** The pid of a living component, undefined if it is dead. */
export function pidOf(component: Pick<Component, 'dir' | 'name'>): number | undefined {
  const file = join(component.dir, `${component.name}.pid`);
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, 'utf8'));
  const environ = readProc(pid, 'environ');
  // Within exec a living process has no environment for a moment: nsenter does one more after the start.
  if (environ === '') return isDead(pid) ? undefined : pid;
  return markIn(environ) === identity(component) ? pid : undefined;
}

export function stateOf(component: Pick<Component, 'dir' | 'name'>): ComponentState {
  const pid = pidOf(component);
  if (pid === undefined || isDead(pid)) return 'dead';
  const letter = processState(pid);
  return letter === 'T' || letter === 't' ? 'stopped' : 'running';
}

function processState(pid: number): string {
  const stat = readProc(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).charAt(0) || 'Z';
}

/** Threads end one by one, and the last one closes the files: until then the process holds its locks. */
function isDead(pid: number): boolean {
  return ['Z', 'X'].includes(processState(pid)) && threadsOf(pid) <= 1;
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${String(pid)}/task`).length;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return 0;
    throw error;
  }
}

function markIn(environ: string): string | undefined {
  return environ.split('\0').find((line) => line.startsWith(`${marker}=`));
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${String(pid)}/${file}`, 'utf8');
  } catch (error) {
    // The process may end at any moment, also between open and read.
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return '';
    throw error;
  }
}

/** Every process of a lab that lives, also one whose pid file was never written. */
export function processesOf(labDir: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => markIn(readProc(pid, 'environ'))?.startsWith(`${marker}=${labDir}/`));
}

/** Kills a component and waits until it is gone; nothing happens if it is dead. */
export async function killComponent(component: Pick<Component, 'dir' | 'name'>): Promise<void> {
  const pid = pidOf(component);
  if (pid === undefined) return;
  process.kill(pid, 'SIGKILL');
  await eventually(
    `the end of ${component.name}`,
    () => stateOf(component) === 'dead' || notYet(`pid ${String(pid)} lives`),
  );
}

/** The components recorded in a directory. */
export function componentsIn(dir: string): Component[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((file) => file.endsWith('.cmd.json'))
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(dir, file), 'utf8')) as Component);
}

/** The end of a component's log, for messages. */
export function lastLines(component: Pick<Component, 'dir' | 'name'>, count: number): string {
  const file = join(component.dir, `${component.name}.log`);
  if (!existsSync(file)) return `  (no ${basename(file)})`;
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count);
  return lines.map((line) => `  ${line.slice(0, 400)}`).join('\n');
}
