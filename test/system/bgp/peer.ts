// The interface of a router that the node peers with, independent of the router's program. frr.ts, bird.ts, gobgpd.ts, openbgpd.ts
// and exabgp.ts implement it.
import type { Daemon, Namespace } from './namespace.ts';

export type Family = 4 | 6;

/** The two ends of the link between node and peer. */
export interface Link {
  /** The peer's addresses. */
  readonly v4: string;
  readonly v6: string;
  /** The node's addresses. */
  readonly nodeV4: string;
  readonly nodeV6: string;
}

export interface PeerSetup {
  /** `raw` runs no program; the test itself speaks BGP. */
  readonly kind: 'frr' | 'bird' | 'gobgpd' | 'openbgpd' | 'exabgp' | 'raw';
  /** Also the name of the node's network device. */
  readonly name: string;
  readonly asn: number;
  /** The node's AS; any other than the peer's by default. */
  readonly nodeAsn?: number;
  /** A router is between node and peer. */
  readonly isBehindRouter?: boolean;
  /** The link has link-local addresses only, and the peer's neighbour is configured by interface. */
  readonly isUnnumbered?: boolean;
  /** 9 by default. */
  readonly holdSeconds?: number;
  /** The peer's IPv4 address by default. */
  readonly routerId?: string;
  /** Lines of each session: after `neighbor <address>` with FRR, in the protocol with BIRD, in the neighbor with OpenBGPD and ExaBGP. */
  readonly session?: readonly string[];
  /** Prefixes that the peer announces to the node. */
  readonly announces?: readonly string[];
  /** FRR's bfdd runs, and each session has BFD of 300 ms × 3. */
  readonly hasBfd?: boolean;
  /** FRR, BIRD and gobgpd retain the routes of an absent node for another minute as long-lived stale routes (RFC 9494). */
  readonly isLongLived?: boolean;
  /** FRR and gobgpd also negotiate EVPN in both sessions. */
  readonly hasEvpn?: boolean;
}

/** A path that a peer received from the node. */
export interface SeenPath {
  readonly nextHop: string;
  readonly asPath: readonly number[];
  readonly med?: number;
  readonly localPref?: number;
  /** `65001:100`, or the name of a well-known community in lower case. */
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
}

export interface NeighborCounters {
  readonly state: string;
  /** The AS of the node, as the peer sees it. */
  readonly asn: number;
  readonly updates: number;
  readonly established: number;
  /** The peer has received End-of-RIB: the initial updates of the session are complete. */
  readonly isSettled: boolean;
}

export interface PeerContext {
  readonly setup: PeerSetup;
  readonly namespace: Namespace;
  readonly link: Link;
  /** A folder of its own. */
  readonly dir: string;
}

/** The host at the other end of a link. */
export abstract class Host {
  readonly name: string;
  readonly setup: PeerSetup;
  readonly namespace: Namespace;
  readonly link: Link;
  readonly dir: string;

  constructor({ setup, namespace, link, dir }: PeerContext) {
    this.name = setup.name;
    this.setup = setup;
    this.namespace = namespace;
    this.link = link;
    this.dir = dir;
  }

  get asn(): number {
    return this.setup.asn;
  }

  /** Starts the programs of the host; resolves when they answer. */
  abstract start(): Promise<void>;
}

export abstract class Peer extends Host {
  /** The process that speaks BGP. */
  abstract get daemon(): Daemon;
  /** The next hops by prefix, of routes learned from neighbours. */
  abstract routes(family?: Family): Promise<Record<string, string[]>>;
  /** The path of a prefix with its attributes; undefined if the peer has none. */
  abstract path(prefix: string): Promise<SeenPath | undefined>;
  /** The peer's counters for one of the node's addresses. */
  abstract neighbor(address: string): Promise<NeighborCounters>;
  /** Ends all sessions with a Cease. */
  abstract reset(): Promise<void>;

  /** Kills the BGP process and starts it again. */
  async crash(): Promise<void> {
    await this.daemon.kill();
    await this.start();
  }

  /** The next hops by prefix in the kernel. */
  fib(family: Family = 4): Record<string, string[]> {
    const text = this.namespace.run('ip', '-j', `-${family}`, 'route', 'show');
    const routes = JSON.parse(text || '[]') as KernelRoute[];
    const learned = routes.filter(({ protocol }) => protocol === 'bgp' || protocol === 'bird');
    return Object.fromEntries(learned.map((route) => [prefixOf(route.dst, family), hopsOf(route)]));
  }
}

/** @throws Error if a setup has a field that its kind does not support, or lacks one that it requires */
export function refuse(
  setup: PeerSetup,
  hasNot: readonly (keyof PeerSetup)[],
  needs: readonly (keyof PeerSetup)[],
): void {
  const { kind, name } = setup;
  for (const field of hasNot)
    if (setup[field] !== undefined) throw new Error(`cannot set up ${name}: a peer of kind ${kind} has no ${field}`);
  for (const field of needs)
    if (setup[field] === undefined) throw new Error(`cannot set up ${name}: a peer of kind ${kind} needs ${field}`);
}

interface KernelRoute extends KernelHop {
  readonly dst: string;
  readonly protocol?: string;
  readonly nexthops?: readonly KernelHop[];
}

interface KernelHop {
  readonly gateway?: string;
  /** A next hop of the other address family. */
  readonly via?: { readonly host: string };
}

function hopsOf({ nexthops = [], ...only }: KernelRoute): string[] {
  return [only, ...nexthops].flatMap(({ gateway, via }) => gateway ?? via?.host ?? []);
}

/** The kernel prints host routes without a prefix length. */
export function prefixOf(text: string, family: Family): string {
  return text.includes('/') ? text : `${text}/${family === 4 ? 32 : 128}`;
}
