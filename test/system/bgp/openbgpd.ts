import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { Daemon } from './namespace.ts';
import { type Family, type NeighborCounters, Peer, type PeerContext, refuse, type SeenPath } from './peer.ts';

/** OpenBGPD, which writes no kernel routes on Linux. It needs the node's AS. */
export class OpenBgpdPeer extends Peer {
  #daemon: Daemon | undefined;

  constructor(context: PeerContext) {
    super(context);
    refuse(this.setup, ['hasBfd', 'isLongLived'], ['nodeAsn']);
  }

  override get daemon(): Daemon {
    if (!this.#daemon) throw new Error(`${this.name} was not started`);
    return this.#daemon;
  }

  override async start(): Promise<void> {
    // Its workers chroot into this folder, which stays empty.
    mkdirSync('/run/openbgpd', { recursive: true });
    const file = join(this.dir, 'bgpd.conf');
    // OpenBGPD refuses a file that others may read.
    writeFileSync(file, this.#config(), { mode: 0o600 });
    this.#daemon = await this.namespace.start(['/usr/sbin/bgpd', '-d', '-f', file], join(this.dir, 'bgpd.log'));
    await eventuallyPasses(() => this.show('neighbor'), undefined, 20);
  }

  /** The JSON output of bgpctl. */
  async show(...words: readonly string[]): Promise<Answer> {
    const argv = ['-j', '-s', this.#socket, 'show', ...words];
    return JSON.parse(
      execFileSync('bgpctl', argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }) || '{}',
    ) as Answer;
  }

  override async routes(family: Family = 4): Promise<Record<string, string[]>> {
    const { rib = [] } = await this.show('rib', 'neighbor', this.#node(family), 'detail');
    return Object.fromEntries(rib.map((route) => [route.prefix, [route.exit_nexthop]]));
  }

  override async path(prefix: string): Promise<SeenPath | undefined> {
    const { rib = [] } = await this.show('rib', 'neighbor', this.#node(prefix.includes(':') ? 6 : 4), 'detail');
    const route = rib.find((each) => each.prefix === prefix);
    if (!route) return undefined;
    return {
      nextHop: route.exit_nexthop,
      asPath: route.aspath.split(' ').filter(Boolean).map(Number),
      // OpenBGPD also shows a MED if it received none.
      med: route.metric,
      localPref: route.localpref,
      communities: (route.communities ?? []).map((each) => each.toLowerCase().replaceAll('_', '-')),
      largeCommunities: route.large_communities ?? [],
    };
  }

  override async neighbor(address: string): Promise<NeighborCounters> {
    const [found] = (await this.show('neighbor', address)).neighbors ?? [];
    const received = found?.stats?.message.received;
    return {
      state: found?.state ?? '',
      asn: Number(found?.remote_as ?? 0),
      updates: received?.updates ?? 0,
      // OpenBGPD does not count sessions; each begins with an OPEN.
      established: found?.state === 'Established' ? (received?.open ?? 0) : 0,
      isSettled: (found?.stats?.update.received.eor ?? 0) > 0,
    };
  }

  override async reset(): Promise<void> {
    for (const family of [4, 6] as const)
      execFileSync('bgpctl', ['-s', this.#socket, 'neighbor', this.#node(family), 'clear']);
  }

  override fib(): never {
    throw new Error(`${this.name}: OpenBGPD has no kernel's table on Linux`);
  }

  get #socket(): string {
    return join(this.dir, 'bgpd.sock');
  }

  #node(family: Family): string {
    return family === 4 ? this.link.nodeV4 : this.link.nodeV6;
  }

  #config(): string {
    const { asn, nodeAsn, holdSeconds = 9, routerId, session = [], announces = [] } = this.setup;
    const neighbor = (family: Family) => [
      `neighbor ${this.#node(family)} {`,
      `  remote-as ${nodeAsn}`,
      `  local-address ${family === 4 ? this.link.v4 : this.link.v6}`,
      `  announce IPv${family} unicast`,
      `  announce IPv${family === 4 ? 6 : 4} none`,
      ...session.map((line) => `  ${line}`),
      '}',
    ];
    return [
      `AS ${asn}`,
      `router-id ${routerId ?? this.link.v4}`,
      `socket "${this.#socket}"`,
      `holdtime ${holdSeconds}`,
      'connect-retry 1',
      ...announces.map((prefix) => `network ${prefix}`),
      ...neighbor(4),
      ...neighbor(6),
      // By default OpenBGPD passes nothing between different AS.
      'allow from any',
      'allow to any',
      '',
    ].join('\n');
  }
}

interface Answer {
  readonly neighbors?: readonly {
    readonly remote_as: string;
    readonly state: string;
    readonly stats?: {
      readonly message: { readonly received: { readonly open: number; readonly updates: number } };
      readonly update: { readonly received: { readonly eor: number } };
    };
  }[];
  readonly rib?: readonly {
    readonly prefix: string;
    readonly aspath: string;
    readonly exit_nexthop: string;
    readonly metric: number;
    readonly localpref: number;
    readonly communities?: readonly string[];
    readonly large_communities?: readonly string[];
  }[];
}
