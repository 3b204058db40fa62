// What tests ask of a router that our node peers with, whichever program it runs; frr.ts, bird.ts, gobgpd.ts, openbgpd.ts and
// exabgp.ts give it.
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
  /** `raw` is nobody, and a test speaks in his place. */
  readonly kind: 'frr' | 'bird' | 'gobgpd' | 'openbgpd' | 'exabgp' | 'raw';
  /** Also the name of the node's device. */
  readonly name: string;
  readonly asn: number;
  /** The node's AS; any other than the peer's by default. */
  readonly nodeAsn?: number;
  /** With a router between node and peer. */
  readonly isBehindRouter?: boolean;
  /** The link has link-local addresses only, and the peer has the link itself as its neighbour. */
  readonly isUnnumbered?: boolean;
  /** 9 by default. */
  readonly holdSeconds?: number;
  /** Another than its IPv4 address. */
  readonly routerId?: string;
  /** Lines of each session: after `neighbor <address>` with FRR, in the protocol with BIRD, in the neighbor with OpenBGPD and ExaBGP. */
  readonly session?: readonly string[];
  /** Prefixes the peer announces to the node. */
  readonly announces?: readonly string[];
  /** FRR's bfdd runs, and each session has BFD of 300 ms × 3. */
  readonly hasBfd?: boolean;
  /** FRR, BIRD and gobgpd keep routes of a node that stays away for a minute longer, as a last resort (RFC 9494). */
  readonly isLongLived?: boolean;
  /** FRR and gobgpd speak EVPN too, in both sessions. */
  readonly hasEvpn?: boolean;
}

/** A path that a peer got from the node. */
export interface SeenPath {
  readonly nextHop: string;
  readonly asPath: readonly number[];
  readonly med?: number;
  readonly localPref?: number;
  /** `65001:100`, or the name of a well-known one in small letters. */
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
}

export interface NeighborCounters {
  readonly state: string;
  /** The AS of the node, as the peer sees it. */
  readonly asn: number;
  readonly updates: number;
  readonly established: number;
  /** The End-of-RIB has come: all that is told at the start of a session was told. */
  readonly isSettled: boolean;
}

export interface PeerContext {
  readonly setup: PeerSetup;
  readonly namespace: Namespace;
  readonly link: Link;
  /** A folder of its own. */
  readonly dir: string;
}

/** Who is at the other end of a link. */
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

  /** Starts what runs there; resolves when it answers. */
  abstract start(): Promise<void>;
}

export abstract class Peer extends Host {
  /** The process that speaks BGP. */
  abstract get daemon(): Daemon;
  /** The next hops by prefix that came from neighbours. */
  abstract routes(family?: Family): Promise<Record<string, string[]>>;
  /** The path of one prefix with its attributes; undefined: it has none. */
  abstract path(prefix: string): Promise<SeenPath | undefined>;
  /** What the peer counted about one of the node's addresses. */
  abstract neighbor(address: string): Promise<NeighborCounters>;
  /** Ends all sessions with a Cease. */
  abstract reset(): Promise<void>;

  /** Ends the process that speaks BGP as a crash would, and starts it anew. */
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

/** @throws Error where a setup asks for what its program has not, or lacks what it needs */
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
  /** Of the other family. */
  readonly via?: { readonly host: string };
}

function hopsOf({ nexthops = [], ...only }: KernelRoute): string[] {
  return [only, ...nexthops].flatMap(({ gateway, via }) => gateway ?? via?.host ?? []);
}

/** The kernel tells host routes without a length. */
export function prefixOf(text: string, family: Family): string {
  return text.includes('/') ? text : `${text}/${family === 4 ? 32 : 128}`;
}
