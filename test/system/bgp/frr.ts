import { chownSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Daemon } from './namespace.ts';
import { type Family, type NeighborCounters, Peer, type SeenPath } from './peer.ts';
import { Vty } from './vty.ts';

/** FRR: zebra, bgpd and, with BFD, bfdd. */
export class FrrPeer extends Peer {
  #bgpd: { readonly daemon: Daemon; readonly vty: Vty } | undefined;
  #bfdd: { readonly daemon: Daemon; readonly vty: Vty } | undefined;
  #isForwarding = false;

  override get daemon(): Daemon {
    if (!this.#bgpd) throw new Error(`${this.name} was not started`);
    return this.#bgpd.daemon;
  }

  get bfdd(): Daemon {
    if (!this.#bfdd) throw new Error(`${this.name} has no bfdd`);
    return this.#bfdd.daemon;
  }

  override async start(): Promise<void> {
    if (!this.#isForwarding) {
      // FRR drops root privileges before it creates its sockets and reads its configuration.
      chownSync(this.dir, idOf('-u'), idOf('-g'));
      await this.#start('zebra', `hostname ${this.name}\n`);
      if (this.setup.hasBfd) this.#bfdd = await this.#start('bfdd', '');
      this.#isForwarding = true;
    }
    this.#bgpd?.vty.close();
    this.#bgpd = await this.#start('bgpd', renderBgp(this));
  }

  /** The JSON answer of a show command. */
  async show(command: string): Promise<unknown> {
    return JSON.parse(await this.#command(`show ${command} json`));
  }

  /** The BFD state for one of the node's addresses: `up`, `down` or `init`. */
  async bfd(address: string): Promise<string | undefined> {
    const sessions = JSON.parse((await this.#bfdd?.vty.command('show bfd peers json')) ?? '[]') as BfdSession[];
    return sessions.find(({ peer }) => peer === address)?.status;
  }

  /** Adds lines to bgpd's configuration until its next start. */
  async configure(...lines: readonly string[]): Promise<void> {
    for (const line of ['configure terminal', ...lines, 'end']) await this.#command(line);
  }

  /** Adds lines after `neighbor <address>` for each of the node's addresses. */
  async configureSessions(...lines: readonly string[]): Promise<void> {
    await this.configure(`router bgp ${this.asn}`, ...sessionLines(this, lines));
  }

  override async routes(family: Family = 4): Promise<Record<string, string[]>> {
    const { routes = {} } = (await this.show(`bgp ${afi(family)} unicast`)) as {
      routes?: Record<string, { nexthops?: { ip: string; scope?: string }[] }[]>;
    };
    const external = Object.entries(routes).map(([prefix, paths]) => {
      const hops = paths.flatMap(({ nexthops = [] }) =>
        nexthops.filter(({ scope }) => scope !== 'link-local').map(({ ip }) => ip),
      );
      return [prefix, hops] as const;
    });
    return Object.fromEntries(external.filter(([, hops]) => hops.some((hop) => hop !== '0.0.0.0' && hop !== '::')));
  }

  /** The prefixes of both families learned from one neighbour. */
  async prefixesFrom(neighbor: string): Promise<string[]> {
    const shown = await Promise.all(
      ([4, 6] as const).map((family) => this.show(`bgp ${afi(family)} unicast neighbors ${neighbor} routes`)),
    );
    return shown.flatMap((each) => Object.keys((each as { routes?: object }).routes ?? {}));
  }

  /** @param from only the path of this neighbour */
  override async path(prefix: string, from?: string): Promise<SeenPath | undefined> {
    const { paths = [] } = (await this.show(`bgp ${afi(prefix.includes(':') ? 6 : 4)} unicast ${prefix}`)) as {
      paths?: FrrPath[];
    };
    const path = paths.find(
      ({ nexthops = [], peer }) => nexthops.length > 0 && (from === undefined || peer?.peerId === from),
    );
    if (!path) return undefined;
    return {
      nextHop: path.nexthops?.find(({ scope }) => scope !== 'link-local')?.ip ?? '',
      asPath: numbers(path.aspath?.string),
      ...(path.metric !== undefined && { med: path.metric }),
      ...(path.locPrf !== undefined && { localPref: path.locPrf }),
      communities: (path.community?.list ?? []).map((each) => each.replace(/([A-Z])/g, '-$1').toLowerCase()),
      largeCommunities: path.largeCommunity?.list ?? [],
    };
  }

  override async neighbor(address: string): Promise<NeighborCounters> {
    const all = (await this.show(`bgp neighbors ${address}`)) as Record<string, FrrNeighbor>;
    const found = all[address];
    return {
      state: found?.bgpState ?? '',
      asn: found?.remoteAs ?? 0,
      updates: found?.messageStats.updatesRecv ?? 0,
      established: found?.connectionsEstablished ?? 0,
      isSettled: Object.keys(found?.gracefulRestartInfo?.endOfRibRecv ?? {}).length > 0,
    };
  }

  override async reset(): Promise<void> {
    await this.#command('clear bgp *');
  }

  async #command(line: string): Promise<string> {
    if (!this.#bgpd) throw new Error(`${this.name} was not started`);
    return this.#bgpd.vty.command(line);
  }

  async #start(name: string, config: string): Promise<{ daemon: Daemon; vty: Vty }> {
    const file = (suffix: string): string => join(this.dir, `${name}.${suffix}`);
    writeFileSync(file('conf'), config);
    const sockets = ['-z', join(this.dir, 'zserv.api'), '--vty_socket', this.dir, '-i', file('lock'), '-P', '0'];
    const bfd = name === 'bfdd' ? ['--bfdctl', join(this.dir, 'bfdd.sock')] : [];
    const argv = [`/usr/lib/frr/${name}`, '-f', file('conf'), ...sockets, ...bfd, '--log', 'stdout'];
    const daemon = await this.namespace.start(argv, file('log'));
    return { daemon, vty: await Vty.open(file('vty')) };
  }
}

interface BfdSession {
  readonly peer: string;
  readonly status: string;
}

interface FrrPath {
  readonly peer?: { readonly peerId: string };
  readonly nexthops?: readonly { readonly ip: string; readonly scope?: string }[];
  readonly aspath?: { readonly string: string };
  readonly metric?: number;
  readonly locPrf?: number;
  readonly community?: { readonly list: readonly string[] };
  readonly largeCommunity?: { readonly list: readonly string[] };
}

interface FrrNeighbor {
  readonly bgpState: string;
  readonly remoteAs: number;
  readonly messageStats: { readonly updatesRecv: number };
  readonly connectionsEstablished: number;
  readonly gracefulRestartInfo?: { readonly endOfRibRecv?: object };
}

function renderBgp(peer: FrrPeer): string {
  const { setup, link } = peer;
  const { holdSeconds = 9, session = [], announces = [], hasBfd, hasEvpn, isLongLived } = setup;
  const networks = (family: Family) =>
    announces.filter((each) => each.includes(':') === (family === 6)).map((each) => `  network ${each}`);
  const each = [
    `remote-as ${setup.nodeAsn ?? 'external'}`,
    `timers ${Math.max(1, Math.floor(holdSeconds / 3))} ${holdSeconds}`,
    'timers connect 1',
    'advertisement-interval 0',
    ...(hasBfd ? ['bfd', 'bfd 3 300 300'] : []),
    ...session,
  ];
  return [
    `router bgp ${setup.asn}`,
    ` bgp router-id ${setup.routerId ?? link.v4}`,
    ' no bgp ebgp-requires-policy',
    ' no bgp network import-check',
    ...(isLongLived ? [' bgp long-lived-graceful-restart stale-time 60'] : []),
    ...(setup.isUnnumbered ? [' neighbor node interface'] : []),
    ...sessionLines(peer, each),
    ' address-family ipv4 unicast',
    ...networks(4),
    ...(setup.isUnnumbered ? [] : [`  no neighbor ${link.nodeV6} activate`]),
    ' exit-address-family',
    ' address-family ipv6 unicast',
    ...networks(6),
    `  neighbor ${setup.isUnnumbered ? 'node' : link.nodeV6} activate`,
    ' exit-address-family',
    ...(hasEvpn ? [' address-family l2vpn evpn', ...sessionLines(peer, ['activate']), ' exit-address-family'] : []),
    '',
  ].join('\n');
}

function sessionLines({ link, setup }: FrrPeer, lines: readonly string[]): string[] {
  return (setup.isUnnumbered ? ['node'] : [link.nodeV4, link.nodeV6]).flatMap((address) =>
    lines.map((line) => line.replace(/^(no )?/, `$1neighbor ${address} `)),
  );
}

function afi(family: Family): string {
  return family === 4 ? 'ipv4' : 'ipv6';
}

function numbers(text = ''): number[] {
  return text.split(/\D+/).filter(Boolean).map(Number);
}

function idOf(which: '-u' | '-g'): number {
  return Number(execFileSync('id', [which, 'frr'], { encoding: 'utf8' }));
}
