/**
 * Starts a real ovsdb-server for tests, in a temporary folder of its own: the one of testing-installation.ts.
 * The server dies with the process that started it.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Installation, ovnProgram } from './testing-installation.ts';

export {
  hasTree,
  type Installation,
  installation,
  nftOf,
  ovnEnvironment,
  ovnProgram,
  schemaFile,
  type SchemaName,
  versionIn,
} from './testing-installation.ts';

const run = promisify(execFile);
const startTimeoutMs = 180_000;

export interface TestServerOptions {
  /** Path of an `.ovsschema` file; `schemaFile` knows those of OVN and Open vSwitch. */
  readonly schema: string;
  /** Whose ovsdb-server; the one that ISTHMUS_OVN names by default. */
  readonly from?: Installation;
  /** Passive remotes besides the unix socket: `ptcp:0:127.0.0.1`, `pssl:…`. */
  readonly remotes?: readonly string[];
  /** More arguments of ovsdb-server, for example `--private-key=…`. */
  readonly arguments?: readonly string[];
  /** A raft member: listens for the others at `unix:PATH`; joins those named in `join`, else begins a cluster. */
  readonly cluster?: { readonly address: string; readonly join?: readonly string[] };
}

export interface TestServer {
  /** `unix:PATH`, for OvsdbOptions.remotes. */
  readonly remote: string;
  /** Holds `db`, `db.sock`, `ctl` (for ovs-appctl -t) and `log`. */
  readonly dir: string;
  readonly pid: number;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  /** Sends a signal; waits for the end where the signal ends the process. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts the server again on the same database (ending it before, if it runs). */
  restart(): Promise<void>;
  /** What the server logged so far. */
  log(): Promise<string>;
  /** Runs a command of ovs-appctl, for example `['cluster/status', 'OVN_Northbound']`; returns what it prints. */
  control(command: readonly string[]): Promise<string>;
}

/** Resolves when the server accepts connections. */
export async function startOvsdbServer(options: TestServerOptions): Promise<TestServer> {
  const dir = await mkdtemp(join(tmpdir(), 'ovsdb-'));
  await createDatabase(join(dir, 'db'), options);
  const server = new SpawnedServer(dir, options);
  await server.restart();
  return server;
}

async function createDatabase(path: string, { schema, cluster, from }: TestServerOptions): Promise<void> {
  const tool = ovnProgram('ovsdb-tool', from);
  if (cluster === undefined) await run(tool, ['create', path, schema]);
  else if (cluster.join === undefined) await run(tool, ['create-cluster', path, schema, cluster.address]);
  else {
    const { stdout } = await run(tool, ['schema-name', schema]);
    await run(tool, ['join-cluster', path, stdout.trim(), cluster.address, ...cluster.join]);
  }
}

class SpawnedServer implements TestServer {
  readonly remote: string;
  readonly dir: string;
  readonly #options: TestServerOptions;
  #child: ChildProcess | undefined;

  constructor(dir: string, options: TestServerOptions) {
    this.dir = dir;
    this.remote = `unix:${join(dir, 'db.sock')}`;
    this.#options = options;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`ovsdb-server in ${this.dir} does not run`);
    return pid;
  }

  async restart(): Promise<void> {
    await this.#end('SIGKILL');
    const log = openSync(join(this.dir, 'log'), 'a');
    const remotes = [`p${this.remote}`, ...(this.#options.remotes ?? [])].map((remote) => `--remote=${remote}`);
    const args = [
      ...remotes,
      `--unixctl=${join(this.dir, 'ctl')}`,
      '--no-chdir',
      ...(this.#options.arguments ?? []),
      join(this.dir, 'db'),
    ];
    const program = ovnProgram('ovsdb-server', this.#options.from);
    this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { stdio: ['ignore', log, log] });
    closeSync(log);
    await this.#accepting();
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') process.kill(this.pid, signal);
    else await this.#end(signal);
  }

  async stop(): Promise<void> {
    await this.#end('SIGKILL');
    await rm(this.dir, { recursive: true, force: true });
  }

  log(): Promise<string> {
    return readFile(join(this.dir, 'log'), 'utf8');
  }

  async control(command: readonly string[]): Promise<string> {
    const { stdout } = await run(ovnProgram('ovs-appctl', this.#options.from), [
      '-t',
      join(this.dir, 'ctl'),
      ...command,
    ]);
    return stdout;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  async #accepting(): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    while (!(await accepts(join(this.dir, 'db.sock'))) || !(await accepts(join(this.dir, 'ctl')))) {
      if (this.#child?.exitCode !== null || Date.now() > deadline) {
        throw new Error(`ovsdb-server does not start: ${await this.log()}`);
      }
      await sleep(10);
    }
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket
      .on('connect', () => resolve(true))
      .on('error', () => resolve(false))
      .on('connect', () => socket.destroy());
  });
}
