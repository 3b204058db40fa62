/**
 * When this node announces the addresses of routers' ports that it holds. In: the ports, and whether frames could be sent. Out: frames to send, by
 * the port. Rules: an address is announced as soon as it is here, and some times more within about a second, since a frame may be lost, and the
 * former node may have sent one meanwhile. A node that may have taken the port only because it does not reach the others yet waits as long as OVN
 * does. A port that is no longer here, or perhaps not, is not announced: it would draw packets of the node that has it. At a start the ports may be
 * here for long, so one announcement is enough.
 */
import type { Timers } from '../../lib/rounds/timers.ts';
import type { GatewayPort, OwnedAddress } from '../model/gateway-port.ts';

/** A port of this node, with the port of the bridge by which its network is reached. */
export interface ReachablePort extends GatewayPort {
  readonly outPort: number;
}

export interface AnnouncementsOptions {
  readonly timers: Timers;
  /** The ports that are here now; undefined if that is not known, or nothing could be sent. */
  readonly ports: () => readonly ReachablePort[] | undefined;
  readonly send: (port: ReachablePort, addresses: readonly OwnedAddress[]) => void;
  /** Whether the node may not know yet which others are alive. */
  readonly isStarting: () => boolean;
  /** Called with a port, when its addresses are announced for the first time since it is here. */
  readonly onMoved: (port: ReachablePort) => void;
}

/** Times of the announcements after the first one. */
const repeatsMs = [100, 300, 1000];
/** How long OVN waits before its own announcement. */
const doubtMs = 1000;
/** A process that stood still may know nothing of a move meanwhile. */
const latestMs = 250;

/** Announcements of one port that are to be repeated. */
interface Run {
  readonly port: string;
  /** By `keyOf`. */
  readonly keys: ReadonlySet<string>;
  readonly beganMs: number;
  repeats: number;
}

/** An address with a new MAC address or in another VLAN is announced again. */
function keyOf({ mac, vlan }: GatewayPort, { address }: OwnedAddress): string {
  return `${mac} ${vlan} ${address}`;
}

export class Announcements {
  readonly #options: AnnouncementsOptions;
  /** Addresses that were announced since they are here, by port. */
  readonly #known = new Map<string, ReadonlySet<string>>();
  readonly #runs = new Set<Run>();
  /** When ports are announced that came in doubt. */
  readonly #heldBack = new Map<string, number>();
  #isFirst = true;
  #cancel: (() => void) | undefined;

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
  }

  /** To be called when anything has changed. */
  look(): void {
    const ports = this.#options.ports();
    if (ports === undefined) return;
    const here = new Map(ports.map((port) => [port.name, port]));
    for (const name of this.#known.keys()) if (!here.has(name)) this.#known.delete(name);
    for (const name of this.#heldBack.keys()) if (!here.has(name)) this.#heldBack.delete(name);
    for (const run of this.#runs) if (!here.has(run.port)) this.#runs.delete(run);
    for (const port of ports) if (!this.#isHeldBack(port.name)) this.#announceNew(port);
    this.#isFirst = false;
    this.#wait();
  }

  close(): void {
    this.#cancel?.();
    this.#runs.clear();
    this.#heldBack.clear();
  }

  #isHeldBack(port: string): boolean {
    if (this.#known.has(port) || this.#isFirst) return false;
    const now = this.#options.timers.nowMs();
    const due = this.#heldBack.get(port) ?? (this.#options.isStarting() ? now + doubtMs : now);
    if (due > now) this.#heldBack.set(port, due);
    else this.#heldBack.delete(port);
    return due > now;
  }

  #announceNew(port: ReachablePort): void {
    const before = this.#known.get(port.name);
    const added = port.addresses.filter((one) => before?.has(keyOf(port, one)) !== true);
    this.#known.set(port.name, new Set(port.addresses.map((one) => keyOf(port, one))));
    if (added.length === 0) return;
    this.#options.send(port, added);
    if (before === undefined && !this.#isFirst) this.#options.onMoved(port);
    if (this.#isFirst) return;
    const keys = new Set(added.map((one) => keyOf(port, one)));
    this.#runs.add({ port: port.name, keys, beganMs: this.#options.timers.nowMs(), repeats: 0 });
  }

  #wait(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const { timers } = this.#options;
    const next = Math.min(...[...this.#runs].map(dueMs), ...this.#heldBack.values());
    if (next === Number.POSITIVE_INFINITY) return;
    this.#cancel = timers.after(Math.max(1, next - timers.nowMs()), () => {
      this.#repeat();
      if (this.#heldBack.size > 0) this.look();
    });
  }

  #repeat(): void {
    const { timers, ports, send } = this.#options;
    const here = new Map((ports() ?? []).map((port) => [port.name, port]));
    const now = timers.nowMs();
    for (const run of this.#runs) {
      if (dueMs(run) > now) continue;
      const port = here.get(run.port);
      const isLate = now - dueMs(run) > latestMs;
      run.repeats += 1;
      if (port === undefined || isLate || run.repeats === repeatsMs.length) this.#runs.delete(run);
      const addresses = port?.addresses.filter((one) => run.keys.has(keyOf(port, one))) ?? [];
      if (port !== undefined && !isLate && addresses.length > 0) send(port, addresses);
    }
    this.#wait();
  }
}

function dueMs({ beganMs, repeats }: Run): number {
  return beganMs + (repeatsMs[repeats] ?? Number.POSITIVE_INFINITY);
}
