// Routers for tests: FRR in network namespaces, each on a link of its own to one node namespace where gobgpd runs. Everything has a
// prefix of this process in its name, and `close` removes it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GobgpClient } from './api.ts';
import { openGobgp } from './client.ts';
import type { PeerConfig } from './peers.ts';
import { nodeGobgpd, startGobgpd, type TestGobgpd } from './testing.ts';
import { eventuallyPasses } from '../../testing-eventually.ts';

export interface TestRouter {
  readonly netns: string;
  /** The router's addresses on the link. */
  readonly v4: string;
  readonly v6: string;
  /** The node's addresses on the same link. */
  readonly nodeV4: string;
  readonly nodeV6: string;
  /** Name of the link on the node's side. */
  readonly device: string;
  /** The answer to a show command, in JSON. */
  show(command: string): unknown;
  configure(...lines: readonly string[]): void;
  /** Starts a daemon of FRR that is not running. */
  start(daemon: FrrDaemon): Promise<void>;
  /** Ends a daemon; `SIGSTOP` freezes it instead. */
  signal(daemon: FrrDaemon, signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export type FrrDaemon = 'zebra' | 'bgpd' | 'bfdd';

export interface FrrLab {
  readonly nodeNetns: string;
  readonly routers: readonly TestRouter[];
  close(): Promise<void>;
}

const frr = '/usr/lib/frr';
let labs = 0;

/** Why there can be no lab here, if so. */
export function labMissing(): string | false {
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  return existsSync(`${frr}/bgpd`) ? false : 'FRR is not installed';
}

/** @param configs the lines of bgpd.conf of each router */
export async function openFrrLab(
  configs: readonly ((router: Pick<TestRouter, 'v4' | 'v6' | 'nodeV4' | 'nodeV6'>) => readonly string[])[],
): Promise<FrrLab> {
  const prefix = `gjs${process.pid}-${labs++}`;
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-frr-'));
  chmodSync(dir, 0o755);
  const nodeNetns = `${prefix}-n`;
  const routers: Router[] = [];
  const close = async (): Promise<void> => {
    for (const router of routers) await router.close();
    ip('netns', 'del', nodeNetns);
    rmSync(dir, { recursive: true, force: true });
  };
  ip('netns', 'add', nodeNetns);
  ip('-n', nodeNetns, 'link', 'set', 'lo', 'up');
  try {
    for (const [at, config] of configs.entries()) {
      const router = new Router(prefix, dir, at + 1);
      routers.push(router);
      router.link(nodeNetns);
      writeFileSync(join(router.dir, 'bgpd.conf'), [...config(router), ''].join('\n'));
      for (const daemon of ['zebra', 'bgpd'] as const) await router.start(daemon);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { nodeNetns, routers, close };
}

/** The pinned gobgpd on the node of a lab, with AS 65001, and a client of it. */
export async function startLabGobgpd({ nodeNetns }: FrrLab): Promise<{ daemon: TestGobgpd; gobgp: GobgpClient }> {
  const daemon = await startGobgpd(nodeGobgpd(), ['ip', 'netns', 'exec', nodeNetns]);
  const gobgp = await openGobgp({ target: daemon.target });
  await gobgp.startBgp({ asn: 65001, routerId: '192.0.2.1', listenPort: 179 });
  return { daemon, gobgp };
}

/** A neighbour that has both families and nothing special. */
export function plainPeer(address: string, asn: number): PeerConfig {
  return {
    address,
    asn,
    port: 179,
    isPassive: false,
    ebgpMultihopTtl: 1,
    holdTimeSeconds: 90,
    keepaliveSeconds: 30,
    families: ['ipv4-unicast', 'ipv6-unicast'],
  };
}

class Router implements TestRouter {
  readonly netns: string;
  readonly dir: string;
  readonly v4: string;
  readonly v6: string;
  readonly nodeV4: string;
  readonly nodeV6: string;
  readonly device: string;
  readonly #running = new Map<FrrDaemon, ChildProcess>();

  constructor(prefix: string, dir: string, at: number) {
    this.netns = `${prefix}-r${at}`;
    this.dir = join(dir, `r${at}`);
    mkdirSync(this.dir);
    // FRR gives up root before it makes its sockets and reads its configuration.
    chownSync(this.dir, idOf('-u'), idOf('-g'));
    this.device = `r${at}`;
    this.v4 = `172.30.${at}.1`;
    this.v6 = `fd00:30:${at}::1`;
    this.nodeV4 = `172.30.${at}.11`;
    this.nodeV6 = `fd00:30:${at}::11`;
  }

  link(nodeNetns: string): void {
    ip('netns', 'add', this.netns);
    ip('-n', this.netns, 'link', 'set', 'lo', 'up');
    ip('link', 'add', this.device, 'netns', nodeNetns, 'type', 'veth', 'peer', 'name', 'node', 'netns', this.netns);
    for (const [netns, device, v4, v6] of [
      [nodeNetns, this.device, this.nodeV4, this.nodeV6],
      [this.netns, 'node', this.v4, this.v6],
    ] as const) {
      ip('-n', netns, 'addr', 'add', `${v4}/24`, 'dev', device);
      ip('-n', netns, 'addr', 'add', `${v6}/64`, 'dev', device, 'nodad');
      ip('-n', netns, 'link', 'set', device, 'up');
    }
  }

  show(command: string): unknown {
    return JSON.parse(this.#vtysh(`show ${command} json`));
  }

  configure(...lines: readonly string[]): void {
    this.#vtysh('configure terminal', ...lines);
  }

  async start(daemon: FrrDaemon): Promise<void> {
    const config = join(this.dir, `${daemon}.conf`);
    if (!existsSync(config)) writeFileSync(config, '');
    rmSync(join(this.dir, `${daemon}.vty`), { force: true });
    const sockets = [
      '-z',
      join(this.dir, 'zserv.api'),
      '--vty_socket',
      this.dir,
      '-i',
      join(this.dir, `${daemon}.lock`),
    ];
    const more = daemon === 'bfdd' ? ['--bfdctl', join(this.dir, 'bfdd.sock')] : [];
    const args = ['netns', 'exec', this.netns, `${frr}/${daemon}`, '-f', config, ...sockets, '-P', '0', ...more];
    this.#running.set(daemon, spawn('ip', [...args, '--log', 'stdout'], { stdio: 'ignore' }));
    await eventuallyPasses(() => existsSync(join(this.dir, `${daemon}.vty`)));
  }

  async signal(daemon: FrrDaemon, signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const child = this.#running.get(daemon);
    if (!child) return;
    const gone = signal === 'SIGKILL' || signal === 'SIGTERM' ? exitOf(child) : undefined;
    child.kill(signal);
    await gone;
    if (gone) this.#running.delete(daemon);
  }

  async close(): Promise<void> {
    for (const daemon of this.#running.keys()) await this.signal(daemon, 'SIGKILL');
    ip('netns', 'del', this.netns);
  }

  #vtysh(...commands: readonly string[]): string {
    const args = ['--vty_socket', this.dir, ...commands.flatMap((command) => ['-c', command])];
    return execFileSync('vtysh', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 27 });
  }
}

async function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  await promise;
}

function idOf(which: '-u' | '-g'): number {
  return Number(execFileSync('id', [which, 'frr'], { encoding: 'utf8' }));
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
