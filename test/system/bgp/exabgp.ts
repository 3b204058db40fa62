import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { communityName } from './bird.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { Daemon } from './namespace.ts';
import { type Family, type NeighborCounters, Peer, type PeerContext, refuse, type SeenPath } from './peer.ts';

/** ExaBGP, which has no table: it writes each message as a line of JSON, from which this class builds the table. It needs the node's AS. */
export class ExaBgpPeer extends Peer {
  #daemon: Daemon | undefined;

  constructor(context: PeerContext) {
    super(context);
    refuse(this.setup, ['hasBfd', 'announces', 'isLongLived'], ['nodeAsn']);
  }

  override get daemon(): Daemon {
    if (!this.#daemon) throw new Error(`${this.name} was not started`);
    return this.#daemon;
  }

  override async start(): Promise<void> {
    const file = join(this.dir, 'exabgp.conf');
    writeFileSync(file, this.#config());
    rmSync(this.#outputFile, { force: true });
    const settings = { 'daemon.user': 'root', 'api.cli': 'false', 'api.ack': 'false' };
    const environment = Object.entries(settings).map(([name, value]) => `exabgp.${name}=${value}`);
    const argv = ['env', ...environment, 'exabgp', file];
    this.#daemon = await this.namespace.start(argv, join(this.dir, 'exabgp.log'));
    await eventuallyPasses(() => this.namespace.run('ss', '-Hltn').includes(`[${this.link.v6}]:179`), undefined, 20);
  }

  override async routes(family: Family = 4): Promise<Record<string, string[]>> {
    const paths = [...this.#session(family === 4 ? this.link.nodeV4 : this.link.nodeV6).paths];
    return Object.fromEntries(paths.map(([prefix, { nextHop }]) => [prefix, [nextHop]]));
  }

  override async path(prefix: string): Promise<SeenPath | undefined> {
    return this.#session(prefix.includes(':') ? this.link.nodeV6 : this.link.nodeV4).paths.get(prefix);
  }

  override async neighbor(address: string): Promise<NeighborCounters> {
    return this.#session(address).counters;
  }

  override async reset(): Promise<void> {
    throw new Error(`${this.name}: ExaBGP ends no session before it ends itself`);
  }

  override fib(): never {
    throw new Error(`${this.name}: ExaBGP has no kernel's table`);
  }

  /** The file with the lines of JSON. */
  get #outputFile(): string {
    return join(this.dir, 'received.json');
  }

  /** The paths and counters after all messages of the session with one of the node's addresses. */
  #session(address: string): { readonly paths: Map<string, SeenPath>; readonly counters: NeighborCounters } {
    const paths = new Map<string, SeenPath>();
    let counters: NeighborCounters = { state: '', asn: 0, updates: 0, established: 0, isSettled: false };
    const whole = readFileSync(this.#outputFile, 'utf8').split('\n').slice(0, -1);
    for (const { neighbor } of whole.map((line) => JSON.parse(line) as Line)) {
      if (neighbor?.address.peer !== address) continue;
      const { state, message: { update, eor } = {} } = neighbor;
      if (state === 'up') counters = { ...counters, asn: neighbor.asn.peer, established: counters.established + 1 };
      if (state !== undefined) {
        counters = { ...counters, state: state === 'up' ? 'Established' : state, isSettled: false };
        paths.clear();
      }
      if (eor) counters = { ...counters, isSettled: true };
      if (!update) continue;
      counters = { ...counters, updates: counters.updates + 1 };
      for (const { nlri } of Object.values(update.withdraw ?? {}).flat()) paths.delete(nlri);
      for (const byNextHop of Object.values(update.announce ?? {}))
        for (const [nextHop, routes] of Object.entries(byNextHop))
          for (const { nlri } of routes) paths.set(nlri, seenPath(nextHop, update.attribute ?? {}));
    }
    return { paths, counters };
  }

  #config(): string {
    const { asn, nodeAsn, holdSeconds = 9, routerId, session = [] } = this.setup;
    const neighbor = (family: Family) => `
neighbor ${family === 4 ? this.link.nodeV4 : this.link.nodeV6} {
  local-address ${family === 4 ? this.link.v4 : this.link.v6};
  router-id ${routerId ?? this.link.v4};
  local-as ${asn};
  peer-as ${nodeAsn};
  hold-time ${holdSeconds};
  # It would wait longer and longer before it dials.
  passive true;
  listen 179;
  family { ipv${family} unicast; }
  api { processes [ recorder ]; neighbor-changes; receive { parsed; update; } }
  ${session.join('\n  ')}
}`;
    // ExaBGP would read the process's output as commands, so it prints nothing.
    return `process recorder { run /usr/bin/sed --unbuffered -n "w ${this.#outputFile}"; encoder json; }${neighbor(4)}${neighbor(6)}\n`;
  }
}

interface Line {
  readonly neighbor?: {
    readonly address: { readonly peer: string };
    readonly asn: { readonly peer: number };
    readonly state?: 'connected' | 'up' | 'down';
    readonly message?: { readonly update?: Update; readonly eor?: object };
  };
}

interface Update {
  readonly attribute?: Attributes;
  /** Routes by family and next hop. */
  readonly announce?: Readonly<Record<string, Readonly<Record<string, readonly { readonly nlri: string }[]>>>>;
  readonly withdraw?: Readonly<Record<string, readonly { readonly nlri: string }[]>>;
}

interface Attributes {
  readonly 'as-path'?: readonly number[];
  readonly med?: number;
  readonly 'local-preference'?: number;
  readonly community?: readonly (readonly [number, number])[];
  readonly 'large-community'?: readonly (readonly number[])[];
}

function seenPath(nextHop: string, attributes: Attributes): SeenPath {
  const { med, 'local-preference': localPref } = attributes;
  return {
    nextHop,
    asPath: attributes['as-path'] ?? [],
    ...(med !== undefined && { med }),
    ...(localPref !== undefined && { localPref }),
    communities: (attributes.community ?? []).map(([high, low]) => communityName(high, low)),
    largeCommunities: (attributes['large-community'] ?? []).map((each) => each.join(':')),
  };
}
