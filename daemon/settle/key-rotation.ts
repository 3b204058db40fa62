/**
 * When the key of this node is replaced. Others accept both keys before the node changes to the new one, so nothing is lost. Of two gateways
 * that could change at the same moment, one waits: neither would know the key with which the other one begins. Pure: the time is a
 * parameter.
 */
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import type { KeyRotation } from '../model/interconnect.ts';

export interface RotationFacts {
  readonly keys: {
    readonly current: { readonly madeMs: number };
    readonly next: { readonly publicKey: string; readonly madeMs: number } | undefined;
    readonly request: string;
    /** No key counts as older: by then this node could replace it. */
    readonly sinceMs: number;
    /** When the next key was first announced to others; undefined before. */
    readonly announcedMs: number | undefined;
  };
  /** Empty if none was ever requested. */
  readonly request: string;
  readonly policy: KeyRotation;
  /** This gateway as the agent has it; undefined before the hub knows its key. */
  readonly own: GatewayKey | undefined;
  readonly peers: readonly GatewayKey[];
  /** Since when this process has seen, without a break, that the next key is announced to others. */
  readonly steadyMs: number | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/**
 * `begin`: make the next key, or note that the one there is was requested. `announced`: note that it was announced to others. `end`: change
 * to it.
 */
export type RotationStep = 'begin' | 'announced' | 'end' | 'none';

/** After the session with the hub has begun again, clusters have this time to say that they accept a key. */
const settleMs = 600_000;
/** Between gateways that wait no longer: those that began at the same time would end at the same time, too. */
const staggerMs = 10_000;
const mostBefore = 60;

export function nextStep({ keys, request, policy, own, peers, steadyMs, nowMs }: RotationFacts): RotationStep {
  const { current, next, sinceMs, announcedMs } = keys;
  const isRequested = request !== '' && request !== keys.request;
  if (next === undefined) {
    const isOld = policy.intervalMs > 0 && nowMs - Math.max(current.madeMs, sinceMs) >= policy.intervalMs;
    // A key that nobody knows of yet needs no successor.
    return own !== undefined && (isRequested || isOld) ? 'begin' : 'none';
  }
  if (isRequested) return 'begin';
  // Nobody could accept a key that was announced to nobody, however long ago it was made.
  if (!isTold(next, own)) return 'none';
  const before = peers.filter(({ chassis, nextKey }) => nextKey !== undefined && chassis < own.chassis).length;
  if (before === 0 && own.waitsFor?.length === 0) return 'end';
  if (announcedMs === undefined) return 'announced';
  if (steadyMs === undefined) return 'none';
  const { maxWaitMs } = policy;
  const dueMs = Math.max(announcedMs + maxWaitMs, steadyMs + Math.min(maxWaitMs, settleMs));
  return nowMs >= dueMs + Math.min(before, mostBefore) * staggerMs ? 'end' : 'none';
}

/** Whether the hub has announced the next key to others, and has a session with this cluster. */
export function isTold(
  next: { readonly publicKey: string } | undefined,
  own: GatewayKey | undefined,
): own is GatewayKey {
  return next !== undefined && own?.nextKey === next.publicKey;
}

/** After a change of the own key, until the others have seen it: the first packet of a tunnel is at most 100 ms later. */
const quietMs = 5000;

/** Which next keys of others the node says to accept. */
export class Acceptances {
  #keys = new Set<string>();
  #changedMs = Number.NEGATIVE_INFINITY;

  /** The own key has changed, or may have changed before this process began. */
  changed(nowMs: number): void {
    this.#changedMs = nowMs;
  }

  /** `known`: the next keys of peers that WireGuard has. None is added right after a change of the own key. */
  accept(known: Iterable<string>, nowMs: number): ReadonlySet<string> {
    const isQuiet = nowMs - this.#changedMs < quietMs;
    this.#keys = new Set([...known].filter((key) => !isQuiet || this.#keys.has(key)));
    return this.#keys;
  }
}
