/**
 * One real node for tests: OVN central, Open vSwitch with the userspace datapath, ovn-controller and the daemon, all in a
 * network namespace of the test process itself. Root is needed. Callers: test/system/daemon*.test.ts only.
 * The test process moves into a fresh namespace for good, so it must be a process of its own.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ovnEnvironment, schemaFile } from 'ovsdb-client/testing';
import { libc, systemError } from './host/libc.ts';
import { removeNetns } from './host/netns.ts';
import { eventually } from '../lib/testing-eventually.ts';

const CLONE_NEWNET = 0x40000000;
const checkout = join(import.meta.dirname, '..');

/** Runs a program to its end; its stdout. @throws with its stderr */
export function exec(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: ovnEnvironment() });
}

export interface CniAnswer {
  readonly status: number;
  readonly json: Record<string, unknown>;
}

export class TestNode {
  readonly dir = mkdtempSync(join(tmpdir(), 'dn-'));
  /** Namespace of the host beyond the uplink; it has no route to pods. */
  readonly outside = `dn${process.pid}-outside`;
  readonly #children = new Map<string, ChildProcess>();
  readonly #namespaces = new Set<string>();
  readonly #shim = join(this.dir, 'isthmus-cni');
  /** How long the daemon's log was when it started last. */
  #startedAt = 0;

  /** Leaves the root namespace, with loopback and an uplink `up0` of 172.30.9.11 to a host 172.30.9.1. */
  enterNamespace(): void {
    const unshare = libc.func('int unshare(int flags)') as (flags: number) => number;
    if (unshare(CLONE_NEWNET) !== 0) throw systemError('unshare');
    exec('ip', 'link', 'set', 'lo', 'up');
    const outside = this.outside;
    this.addNamespace('outside');
    exec('ip', 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', outside);
    exec('ip', 'link', 'set', 'up0', 'up', 'mtu', '1500');
    exec('ip', 'addr', 'add', '172.30.9.11/24', 'dev', 'up0');
    exec('ip', '-n', outside, 'addr', 'add', '172.30.9.1/24', 'dev', 'eth0');
    exec('ip', '-n', outside, 'link', 'set', 'eth0', 'up');
  }

  /** A namespace that is removed with the node; returns its full name. */
  addNamespace(name: string): string {
    const full = `dn${process.pid}-${name}`;
    exec('ip', 'netns', 'add', full);
    exec('ip', '-n', full, 'link', 'set', 'lo', 'up');
    this.#namespaces.add(full);
    return full;
  }

  deleteNamespace(full: string): void {
    exec('ip', 'netns', 'del', full);
    this.#namespaces.delete(full);
  }

  startOvn(): void {
    mkdirSync(join(this.dir, 'run'));
    for (const [name, schema] of [
      ['nb', 'ovn-nb'],
      ['sb', 'ovn-sb'],
      ['db', 'vswitch'],
    ] as const) {
      exec('ovsdb-tool', 'create', this.#path(`${name}.conf`), schemaFile(schema));
      this.start(
        name,
        'ovsdb-server',
        this.#path(`${name}.conf`),
        `--remote=punix:${this.#path(`${name}.sock`)}`,
        `--unixctl=${this.#path(`${name}.ctl`)}`,
      );
    }
    this.start(
      'northd',
      'ovn-northd',
      `--ovnnb-db=${this.remote('nb')}`,
      `--ovnsb-db=${this.remote('sb')}`,
      `--unixctl=${this.#path('northd.ctl')}`,
    );
  }

  async startOvs(): Promise<void> {
    await eventually('ovsdb-server', () => existsSync(this.#path('db.sock')));
    this.vsctl('--no-wait', 'init', '--', 'set', 'open', '.', 'external_ids:system-id=chassis-1');
    this.startVswitchd();
    this.startController();
  }

  startController(): void {
    this.start('ovn-controller', 'ovn-controller', this.remote('db'));
  }

  startVswitchd(): void {
    this.start(
      'vswitchd',
      'ovs-vswitchd',
      this.remote('db'),
      '--disable-system',
      `--unixctl=${this.#path('ovs-vswitchd.ctl')}`,
    );
  }

  async startDaemon(kubeconfig: string, ...flags: readonly string[]): Promise<void> {
    this.launchDaemon(kubeconfig, ...flags);
    await this.untilServing();
  }

  /** One that may never serve. */
  launchDaemon(kubeconfig: string, ...flags: readonly string[]): void {
    // Also where a daemon takes its time to start, a request of the test waits for it.
    const build = ['-static', '-Os', '-DCONNECT_TIMEOUT_SECONDS=60'];
    if (!existsSync(this.#shim)) exec('cc', ...build, '-o', this.#shim, join(checkout, 'daemon/shim/shim.c'));
    this.#startedAt = existsSync(this.#path('daemon.log')) ? statSync(this.#path('daemon.log')).size : 0;
    // The socket of a killed daemon would look as if this daemon listened already.
    rmSync(this.#path('daemon.sock'), { force: true });
    this.start(
      'daemon',
      process.execPath,
      join(checkout, 'daemon/main.ts'),
      '--kubeconfig',
      kubeconfig,
      '--node',
      'n1',
      '--ovs',
      this.remote('db'),
      '--sb',
      this.remote('sb'),
      '--socket',
      this.#path('daemon.sock'),
      '--datapath-type',
      'netdev',
      '--encap-ip',
      '172.30.9.11',
      '--metrics-address',
      '127.0.0.1:0',
      '--ovs-rundir',
      join(this.dir, 'run'),
      ...flags,
    );
  }

  async untilServing(): Promise<void> {
    await eventually('the daemon', () => {
      const child = this.#children.get('daemon');
      if (child?.exitCode != null) throw new Error(`the daemon ended: ${this.log('daemon')}`);
      return existsSync(this.#path('daemon.sock'));
    });
  }

  start(name: string, program: string, ...args: readonly string[]): void {
    const log = openSync(this.#path(`${name}.log`), 'a');
    const run = join(this.dir, 'run');
    // The socket of a bridge lies beside that of the database.
    const env = { ...ovnEnvironment(), OVS_RUNDIR: this.dir, OVN_RUNDIR: run, OVS_DBDIR: run, OVS_SYSCONFDIR: run };
    this.#children.set(name, spawn(program, args, { cwd: this.dir, env, stdio: ['ignore', log, log] }));
    closeSync(log);
  }

  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const [child, isRunning] = [this.#children.get(name), this.runs(name)];
    this.#children.delete(name);
    if (child === undefined || !isRunning) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  /** Freezes a process (SIGSTOP), or lets it go on (SIGCONT). */
  signal(name: string, signal: NodeJS.Signals): void {
    this.#children.get(name)?.kill(signal);
  }

  pid(name: string): number {
    return this.#children.get(name)?.pid ?? 0;
  }

  runs(name: string): boolean {
    const child = this.#children.get(name);
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** How each process ended that was not killed here, with the end of its log. */
  ended(): readonly string[] {
    return [...this.#children]
      .filter(([name]) => !this.runs(name))
      .map(([name, { exitCode, signalCode }]) => `${name} ended (${exitCode ?? signalCode}): ${this.log(name)}`);
  }

  log(name: string): string {
    return readFileSync(this.#path(`${name}.log`), 'utf8')
      .split('\n')
      .slice(-20)
      .join('\n');
  }

  /** Whether the log of the last started daemon contains the text. */
  hasDaemonLogged(text: string): boolean {
    return readFileSync(this.#path('daemon.log')).subarray(this.#startedAt).includes(text);
  }

  remote(name: 'nb' | 'sb' | 'db'): string {
    return `unix:${this.#path(`${name}.sock`)}`;
  }

  /** Several commands in one transaction; one with spaces in an argument comes as a list. */
  nbctl(...commands: readonly (string | readonly string[])[]): void {
    const args = commands.flatMap((command) => ['--', ...(typeof command === 'string' ? command.split(' ') : command)]);
    exec('ovn-nbctl', `--db=${this.remote('nb')}`, ...args);
  }

  sbctl(...args: readonly string[]): string {
    return exec('ovn-sbctl', `--db=${this.remote('sb')}`, ...args).trim();
  }

  vsctl(...args: readonly string[]): string {
    return exec('ovs-vsctl', `--db=${this.remote('db')}`, ...args).trim();
  }

  /** Runs the shim as a runtime does; `signal` kills it in the middle. */
  cni(
    command: string,
    environment: Readonly<Record<string, string>>,
    config: object = {},
    signal?: AbortSignal,
  ): Promise<CniAnswer> {
    const env = {
      ISTHMUS_SOCKET: this.#path('daemon.sock'),
      CNI_COMMAND: command,
      CNI_IFNAME: 'eth0',
      CNI_PATH: this.dir,
      ...environment,
    };
    return new Promise((resolve) => {
      const child = execFile(
        this.#shim,
        [],
        { env, ...(signal === undefined ? {} : { signal, killSignal: 'SIGKILL' }) },
        (error, stdout) => {
          const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
          resolve({ status, json: stdout.trim() === '' ? {} : (JSON.parse(stdout) as Record<string, unknown>) });
        },
      );
      child.stdin?.end(JSON.stringify({ cniVersion: '1.0.0', name: 'isthmus', type: 'isthmus', ...config }));
    });
  }

  async stop(): Promise<void> {
    for (const name of [...this.#children.keys()].toReversed()) await this.kill(name);
    for (const name of this.#namespaces) this.deleteNamespace(name);
    // Namespaces of gates outlive the daemon.
    for (const file of this.gates) removeNetns(join(this.gateFolder, file));
    rmSync(this.dir, { recursive: true, force: true });
  }

  get gateFolder(): string {
    return this.#path('gates');
  }

  /** Files of the namespaces of gates. */
  get gates(): readonly string[] {
    return existsSync(this.gateFolder) ? readdirSync(this.gateFolder).toSorted() : [];
  }

  #path(name: string): string {
    return join(this.dir, name);
  }
}
