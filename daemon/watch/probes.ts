/**
 * Probes the gateways of other clusters from the tunnel address of this node: round-trip time, loss, and whether packets of the wanted
 * size pass unfragmented. It keeps the newest result of each peer and notifies subscribers of each result. Probes test the path below the
 * tunnel; BFD tests the tunnel itself.
 */
import type { GatewayPeer, GatewayProbe } from '../../lib/api/kinds/interconnect-gateway.ts';
import { echo, passes, type PingOptions } from '../host/ping.ts';
import { nextProbe } from './probe-queue.ts';
import { probeIntervalMs } from '../model/interconnect.ts';
import { findPathMtu } from './path-mtu.ts';
import { familyOf } from '../../lib/net/ip.ts';

export interface ProberOptions {
  /** Tunnel address of this node. */
  readonly source: string;
  readonly now: () => Date;
  readonly ping?: { readonly echo: typeof echo; readonly passes: typeof passes };
}

export interface ProbeTargets {
  readonly peers: readonly GatewayPeer[];
  readonly wantedMtu: number | undefined;
}

/** Every IPv4 host takes 576 bytes (RFC 791), every IPv6 link 1280 (RFC 8200). */
const leastMtu = { v4: 576, v6: 1280 } as const;

export class Prober {
  readonly #options: ProberOptions;
  readonly #ping: NonNullable<ProberOptions['ping']>;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #results = new Map<string, GatewayProbe>();
  /** Waiting peers, with the time of their next probe. */
  readonly #due = new Map<string, number>();
  readonly #running = new Set<string>();
  #targets: ReadonlyMap<string, GatewayPeer> = new Map();
  #wantedMtu: number | undefined;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#ping = options.ping ?? { echo, passes };
  }

  /** By chassis; only results for the current address of a peer. */
  get results(): ReadonlyMap<string, GatewayProbe> {
    return this.#results;
  }

  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Sets the peers. New peers are probed at once, and so are all peers if the wanted size changes. */
  set({ peers, wantedMtu }: ProbeTargets): void {
    const before = this.#targets;
    this.#targets = new Map(peers.map((peer) => [peer.chassis, peer]));
    for (const [chassis, { address }] of before) {
      if (this.#targets.get(chassis)?.address === address) continue;
      this.#results.delete(chassis);
      this.#due.delete(chassis);
    }
    const isOtherSize = this.#wantedMtu !== wantedMtu;
    this.#wantedMtu = wantedMtu;
    for (const { chassis } of peers) {
      const isWaiting = this.#due.has(chassis) && !isOtherSize;
      if (!isWaiting && !this.#running.has(chassis)) this.#due.set(chassis, performance.now());
    }
    this.#schedule();
  }

  close(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    this.#due.clear();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#stop.signal.aborted) return;
    const [running, lastStartMs, nowMs] = [this.#running.size, this.#lastStartMs, performance.now()];
    const next = nextProbe({ due: this.#due, running, lastStartMs, nowMs });
    if (next === undefined) return;
    this.#timer = setTimeout(() => this.#start(next.chassis), next.waitMs).unref();
  }

  #start(chassis: string): void {
    this.#due.delete(chassis);
    const peer = this.#targets.get(chassis);
    if (peer !== undefined) {
      this.#lastStartMs = performance.now();
      this.#running.add(chassis);
      // Not caught on purpose: an error of a probe is a defect.
      void this.#probe(peer).then((probe) => this.#finish(peer, probe));
    }
    this.#schedule();
  }

  #finish(peer: GatewayPeer, probe: GatewayProbe): void {
    const { chassis } = peer;
    this.#running.delete(chassis);
    if (this.#stop.signal.aborted) return;
    const now = this.#targets.get(chassis);
    const isCurrent = now?.address === peer.address;
    if (now !== undefined)
      this.#due.set(chassis, isCurrent ? this.#lastStartMs + probeIntervalMs(this.#targets.size) : 0);
    if (isCurrent) this.#results.set(chassis, probe);
    this.#schedule();
    if (isCurrent) for (const listener of this.#listeners) listener();
  }

  async #probe({ chassis, address }: GatewayPeer): Promise<GatewayProbe> {
    const options: PingOptions = { source: this.#options.source, target: address, signal: this.#stop.signal };
    const { sent, received, rttMs, problem } = await this.#ping.echo(options);
    const mtu = received === 0 ? undefined : await this.#pathMtu(chassis, options);
    return {
      chassis,
      address,
      lossPercent: sent === 0 ? 100 : Math.round((1000 * (sent - received)) / sent) / 10,
      ...(rttMs === undefined ? {} : { rttMs }),
      ...(mtu === undefined ? {} : { mtu }),
      ...(problem === undefined ? {} : { problem }),
      at: this.#options.now().toISOString(),
    };
  }

  #pathMtu(chassis: string, options: PingOptions): Promise<number | undefined> | undefined {
    const wanted = this.#wantedMtu;
    if (wanted === undefined) return undefined;
    return findPathMtu({
      wanted,
      least: familyOf(options.target) === 6 ? leastMtu.v6 : leastMtu.v4,
      hint: this.#results.get(chassis)?.mtu,
      passes: (size) => this.#ping.passes(options, size),
    });
  }
}
