import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTransport } from './transport.ts';
import { eventuallyPasses } from '../../testing-eventually.ts';

/** A real gobgpd for tests, in a temporary folder of its own. */
export interface TestGobgpd {
  readonly target: string;
  readonly pid: number;
  /** The output of gobgpd. */
  readonly log: string;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again at the same target. */
  restart(): Promise<void>;
  /** Ends it and removes the folder. */
  stop(): Promise<void>;
}

export interface GobgpdBinary {
  readonly name: string;
  readonly path: string;
  /** Keep it from listening on anything but its socket. */
  readonly flags: readonly string[];
}

/** The gobgpd binaries of this machine by name: the pinned 4.x, and Debian's 3.x where it is installed. */
export function gobgpdBinaries(): GobgpdBinary[] {
  const tools = process.env['ISTHMUS_TOOLS'] ?? execFileSync('make', ['-s', 'tools-path'], { encoding: 'utf8' }).trim();
  return [
    { name: 'gobgpd 4', path: join(tools, 'gobgpd'), flags: ['--pprof-disable', '--metrics-path', ''] },
    { name: 'gobgpd 3', path: '/usr/bin/gobgpd', flags: ['--pprof-disable'] },
  ];
}

/** The one that nodes of tests run: the pinned one, or Debian's with ISTHMUS_GOBGPD=3. */
export function nodeGobgpd(): GobgpdBinary {
  const generation = process.env['ISTHMUS_GOBGPD'] ?? '4';
  const found = gobgpdBinaries().find(({ name }) => name === `gobgpd ${generation}`);
  if (!found) throw new Error(`ISTHMUS_GOBGPD is ${generation}, and there are gobgpd 3 and 4`);
  return found;
}

/** Starts a gobgpd and waits until its API answers. @param prefix words before the command, as `ip netns exec x` */
export async function startGobgpd(binary: GobgpdBinary, prefix: readonly string[] = []): Promise<TestGobgpd> {
  if (!existsSync(binary.path)) throw new Error(`no gobgpd at ${binary.path}`);
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-gobgp-'));
  const socket = join(dir, 'gobgpd.sock');
  const log = join(dir, 'gobgpd.log');
  const start = async (): Promise<ChildProcess> => {
    rmSync(socket, { force: true });
    const args = [...prefix, binary.path, '--api-hosts', `unix://${socket}`, ...binary.flags];
    const output = openSync(log, 'a');
    const child = spawn(args[0] ?? binary.path, args.slice(1), { stdio: ['ignore', output, output] });
    closeSync(output);
    await eventuallyPasses(async () => (await openTransport({ target: `unix:${socket}` })).close());
    return child;
  };
  let child = await start();
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
    await promise;
  };
  return {
    target: `unix:${socket}`,
    log,
    get pid() {
      return child.pid ?? 0;
    },
    kill,
    restart: async () => {
      await kill();
      child = await start();
    },
    stop: async () => {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
