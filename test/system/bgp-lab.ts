// A node and two routers as network namespaces for the speaker's test: `n1` has one link to each router, with IPv4 and IPv6. gobgpd runs
// in the node, FRR in the routers, and everything belongs to a prefix of its own that `close` removes.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Router {
  readonly name: string;
  readonly netns: string;
  readonly dir: string;
  /** The router's addresses on the link. */
  readonly v4: string;
  readonly v6: string;
  /** The node's addresses on the same link. */
  readonly nodeV4: string;
  readonly nodeV6: string;
}

export interface BgpLab {
  readonly nodeNetns: string;
  readonly routers: readonly [Router, Router];
  close(): Promise<void>;
}

const processes: ChildProcess[] = [];

/** Makes the namespaces and starts FRR in the routers; router `at` has AS 65100 + at and takes sessions from any AS. */
export async function openBgpLab(): Promise<BgpLab> {
  const prefix = `isb${process.pid}`;
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-bgp-'));
  chmodSync(dir, 0o755);
  const nodeNetns = `${prefix}-n1`;
  const routers = [1, 2].map((at) => router(prefix, dir, at)) as unknown as readonly [Router, Router];
  const close = async (): Promise<void> => {
    await Promise.all(processes.splice(0).map(end));
    for (const netns of [nodeNetns, ...routers.map((each) => each.netns)]) ip('netns', 'del', netns);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    ip('netns', 'add', nodeNetns);
    ip('-n', nodeNetns, 'link', 'set', 'lo', 'up');
    for (const each of routers) link(nodeNetns, each);
    for (const [at, each] of routers.entries()) await startFrr(each, 65101 + at);
  } catch (error) {
    await close();
    throw error;
  }
  return { nodeNetns, routers, close };
}

/** A show command's answer in JSON. */
export function show(target: Router, command: string): unknown {
  return JSON.parse(
    execFileSync('vtysh', ['--vty_socket', target.dir, '-c', `show ${command} json`], { encoding: 'utf8' }),
  );
}

/** Gives a router lines of configuration. */
export function configure(target: Router, ...lines: readonly string[]): void {
  const commands = ['configure terminal', ...lines].flatMap((line) => ['-c', line]);
  execFileSync('vtysh', ['--vty_socket', target.dir, ...commands], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** The next hops by prefix that a router has in its BGP table. */
export function routesOf(target: Router, family: 'ipv4' | 'ipv6' = 'ipv4'): Record<string, string[]> {
  const { routes = {} } = show(target, `bgp ${family} unicast`) as {
    routes?: Record<string, { nexthops?: { ip: string; scope?: string }[] }[]>;
  };
  const external = Object.entries(routes).map(([prefix, paths]) => {
    const hops = paths.flatMap(({ nexthops = [] }) =>
      nexthops.filter(({ scope }) => scope !== 'link-local').map(({ ip: address }) => address),
    );
    return [prefix, hops] as const;
  });
  return Object.fromEntries(external.filter(([, hops]) => hops.some((hop) => hop !== '0.0.0.0' && hop !== '::')));
}

export interface NeighborCounters {
  readonly state: string;
  /** The AS of the node, as the router sees it. */
  readonly asn: number;
  readonly updates: number;
  readonly established: number;
  /** The End-of-RIB has come: all that is told at the start of a session was told. */
  readonly isSettled: boolean;
}

/** What a router counted about a neighbour. */
export function neighborOf(target: Router, address: string): NeighborCounters {
  const all = show(target, `bgp neighbors ${address}`) as Record<
    string,
    {
      bgpState: string;
      remoteAs: number;
      messageStats: { updatesRecv: number };
      connectionsEstablished: number;
      gracefulRestartInfo?: { endOfRibRecv?: object };
    }
  >;
  const found = all[address];
  return {
    state: found?.bgpState ?? '',
    asn: found?.remoteAs ?? 0,
    updates: found?.messageStats.updatesRecv ?? 0,
    established: found?.connectionsEstablished ?? 0,
    isSettled: Object.keys(found?.gracefulRestartInfo?.endOfRibRecv ?? {}).length > 0,
  };
}

/** Ends a child and waits for it. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  child.kill('SIGKILL');
  await promise;
}

function router(prefix: string, dir: string, at: number): Router {
  const name = `tor${at}`;
  const folder = join(dir, name);
  mkdirSync(folder);
  return {
    name,
    netns: `${prefix}-${name}`,
    dir: folder,
    v4: `172.31.${at}.1`,
    v6: `fd00:31:${at}::1`,
    nodeV4: `172.31.${at}.11`,
    nodeV6: `fd00:31:${at}::11`,
  };
}

function link(nodeNetns: string, target: Router): void {
  ip('netns', 'add', target.netns);
  ip('-n', target.netns, 'link', 'set', 'lo', 'up');
  ip('link', 'add', target.name, 'netns', nodeNetns, 'type', 'veth', 'peer', 'name', 'n1', 'netns', target.netns);
  for (const [netns, device, v4, v6] of [
    [nodeNetns, target.name, target.nodeV4, target.nodeV6],
    [target.netns, 'n1', target.v4, target.v6],
  ] as const) {
    ip('-n', netns, 'addr', 'add', `${v4}/24`, 'dev', device);
    ip('-n', netns, 'addr', 'add', `${v6}/64`, 'dev', device, 'nodad');
    ip('-n', netns, 'link', 'set', device, 'up');
  }
}

async function startFrr(target: Router, asn: number): Promise<void> {
  const { dir } = target;
  writeFileSync(join(dir, 'zebra.conf'), `hostname ${target.name}\n`);
  writeFileSync(join(dir, 'bgpd.conf'), renderBgp(target, asn));
  // FRR gives up root before it makes its sockets and reads its configuration.
  chownSync(dir, idOf('-u'), idOf('-g'));
  for (const name of ['zebra', 'bgpd']) {
    const program = ['netns', 'exec', target.netns, `/usr/lib/frr/${name}`, '-f', join(dir, `${name}.conf`)];
    const sockets = ['-z', join(dir, 'zserv.api'), '--vty_socket', dir, '-i', join(dir, `${name}.lock`), '-P', '0'];
    const args = [...program, ...sockets, '--log', 'stdout'];
    processes.push(spawn('ip', args, { stdio: 'ignore' }));
    await eventually(() => execFileSync('test', ['-S', join(dir, `${name}.vty`)]));
  }
}

function renderBgp(target: Router, asn: number): string {
  const neighbor = (address: string) => [
    ` neighbor ${address} remote-as external`,
    ` neighbor ${address} timers connect 1`,
    ` neighbor ${address} advertisement-interval 0`,
  ];
  return [
    `router bgp ${asn}`,
    ` bgp router-id ${target.v4}`,
    ' no bgp ebgp-requires-policy',
    ' no bgp network import-check',
    ...neighbor(target.nodeV4),
    ...neighbor(target.nodeV6),
    ' address-family ipv4 unicast',
    `  network 192.0.2.0/24`,
    `  no neighbor ${target.nodeV6} activate`,
    ' exit-address-family',
    ' address-family ipv6 unicast',
    `  neighbor ${target.nodeV6} activate`,
    ' exit-address-family',
    '',
  ].join('\n');
}

function idOf(which: '-u' | '-g'): number {
  return Number(execFileSync('id', [which, 'frr'], { encoding: 'utf8' }));
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Waits until `check` neither throws nor returns false, and gives its value; after `timeoutMs` what it said last is thrown. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 15_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      const value = await check();
      if (value !== false || performance.now() > deadline) return value;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(50);
  }
}
