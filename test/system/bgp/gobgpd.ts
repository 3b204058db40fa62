import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toolsFolder } from '../../../lib/kube/testing.ts';
import { communityName } from './bird.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { Daemon } from './namespace.ts';
import { type Family, type NeighborCounters, Peer, type SeenPath } from './peer.ts';

/** gobgpd as a router without kernel routes. It needs the node's AS. */
export class GobgpdPeer extends Peer {
  #daemon: Daemon | undefined;

  override get daemon(): Daemon {
    if (!this.#daemon) throw new Error(`${this.name} was not started`);
    return this.#daemon;
  }

  override async start(): Promise<void> {
    const file = join(this.dir, 'gobgpd.json');
    writeFileSync(file, JSON.stringify(this.#config()));
    rmSync(this.#socket, { force: true });
    const flags = ['--pprof-disable', '--metrics-path', '', '--api-hosts', `unix://${this.#socket}`];
    const argv = [join(toolsFolder(), 'gobgpd'), '-t', 'json', '-f', file, ...flags];
    this.#daemon = await this.namespace.start(argv, join(this.dir, 'gobgpd.log'));
    await eventuallyPasses(() => this.command('global'), undefined, 20);
    for (const prefix of this.setup.announces ?? [])
      await this.command('global', 'rib', 'add', prefix, '-a', prefix.includes(':') ? 'ipv6' : 'ipv4');
  }

  /** The output of a gobgp command. */
  async command(...words: readonly string[]): Promise<string> {
    const argv = ['--target', `unix://${this.#socket}`, ...words];
    return execFileSync(join(toolsFolder(), 'gobgp'), argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  override async routes(family: Family = 4): Promise<Record<string, string[]>> {
    const paths = await this.#paths(family);
    return Object.fromEntries([...paths].map(([prefix, { nextHop }]) => [prefix, [nextHop]]));
  }

  override async path(prefix: string): Promise<SeenPath | undefined> {
    return (await this.#paths(prefix.includes(':') ? 6 : 4)).get(prefix);
  }

  override async neighbor(address: string): Promise<NeighborCounters> {
    const all = JSON.parse(await this.command('neighbor', '-j')) as Neighbor[];
    const found = all.find(({ state }) => state.neighbor_address === address);
    return {
      state: found?.state.session_state === 6 ? 'Established' : 'Idle',
      asn: found?.state.peer_asn ?? 0,
      updates: Number(found?.state.messages?.received?.update ?? 0),
      established: Number(found?.timers?.state?.uptime?.seconds ?? 0),
      isSettled: found?.state.session_state === 6,
    };
  }

  override async reset(): Promise<void> {
    for (const address of [this.link.nodeV4, this.link.nodeV6]) await this.command('neighbor', address, 'reset');
  }

  get #socket(): string {
    return join(this.dir, 'gobgpd.sock');
  }

  async #paths(family: Family): Promise<Map<string, SeenPath>> {
    const text = await this.command('global', 'rib', '-a', family === 4 ? 'ipv4' : 'ipv6', '-j');
    const found = Object.entries(JSON.parse(text) as Record<string, { attrs: Attribute[]; 'peer-address'?: string }[]>);
    return new Map(
      found.flatMap(([prefix, [path]]) => {
        const isLearned = path?.['peer-address']?.includes('.') || path?.['peer-address']?.includes(':');
        return path && isLearned ? [[prefix, seenPath(path.attrs)] as const] : [];
      }),
    );
  }

  #config(): object {
    const { asn, nodeAsn, holdSeconds = 9, routerId, hasEvpn = false, isLongLived = false } = this.setup;
    const neighbor = (address: string, family: 'ipv4-unicast' | 'ipv6-unicast') => ({
      config: { 'neighbor-address': address, 'peer-as': nodeAsn },
      timers: {
        config: {
          'hold-time': holdSeconds,
          'keepalive-interval': Math.max(1, Math.floor(holdSeconds / 3)),
          'idle-hold-time-after-reset': 1,
        },
      },
      'graceful-restart': {
        config: { enabled: true, 'restart-time': 120, 'helper-only': !isLongLived, 'long-lived-enabled': isLongLived },
      },
      'afi-safis': [family, ...(hasEvpn ? ['l2vpn-evpn'] : [])].map((each) => ({
        config: { 'afi-safi-name': each },
        'mp-graceful-restart': { config: { enabled: true } },
        'long-lived-graceful-restart': { config: { enabled: isLongLived, 'restart-time': 60 } },
      })),
    });
    return {
      global: { config: { as: asn, 'router-id': routerId ?? this.link.v4 } },
      neighbors: [neighbor(this.link.nodeV4, 'ipv4-unicast'), neighbor(this.link.nodeV6, 'ipv6-unicast')],
    };
  }
}

interface Attribute {
  readonly type: number;
  readonly value?: unknown;
  readonly nexthop?: string;
  readonly metric?: number;
  readonly as_paths?: readonly { readonly asns: readonly number[] }[];
  readonly communities?: readonly number[];
}

interface Neighbor {
  readonly state: {
    readonly neighbor_address?: string;
    readonly session_state?: number;
    readonly peer_asn?: number;
    readonly messages?: { readonly received?: { readonly update?: number | string } };
  };
  readonly timers?: { readonly state?: { readonly uptime?: { readonly seconds?: number | string } } };
}

function seenPath(attributes: readonly Attribute[]): SeenPath {
  const of = (type: number) => attributes.find((each) => each.type === type);
  const [med, localPref] = [of(4)?.metric, of(5)?.value];
  const large = (of(32)?.value ?? []) as { ASN: number; LocalData1: number; LocalData2: number }[];
  return {
    nextHop: of(3)?.nexthop ?? of(14)?.nexthop ?? '',
    asPath: of(2)?.as_paths?.flatMap(({ asns }) => asns) ?? [],
    ...(med !== undefined && { med }),
    ...(typeof localPref === 'number' && { localPref }),
    communities: (of(8)?.communities ?? []).map((each) => communityName(each >>> 16, each & 0xffff)),
    largeCommunities: large.map(({ ASN, LocalData1, LocalData2 }) => `${ASN}:${LocalData1}:${LocalData2}`),
  };
}
