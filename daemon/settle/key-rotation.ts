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
  };
  /** Empty if none was ever requested. */
  readonly request: string;
  readonly policy: KeyRotation;
  /** This gateway as the agent has it; undefined before the hub knows its key. */
  readonly own: GatewayKey | undefined;
  readonly peers: readonly GatewayKey[];
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** `begin`: make the next key, or note that the one there is was requested. `end`: change to it. */
export type RotationStep = 'begin' | 'end' | 'none';

export function nextStep({ keys, request, policy, own, peers, nowMs }: RotationFacts): RotationStep {
  const { current, next } = keys;
  const isRequested = request !== '' && request !== keys.request;
  if (next === undefined) {
    const isOld = policy.intervalMs > 0 && nowMs - current.madeMs >= policy.intervalMs;
    // A key that nobody knows of yet needs no successor.
    return own !== undefined && (isRequested || isOld) ? 'begin' : 'none';
  }
  if (isRequested) return 'begin';
  // Nobody could accept a key that was told to nobody, however long ago it was made.
  if (own?.nextKey !== next.publicKey) return 'none';
  if (nowMs - next.madeMs >= policy.maxWaitMs) return 'end';
  const isFirst = !peers.some(({ chassis, nextKey }) => nextKey !== undefined && chassis < own.chassis);
  return isFirst && own.waitsFor?.length === 0 ? 'end' : 'none';
}

/** After a change of the own key, until the others have seen it: the first packet of a tunnel is at most 100 ms later. */
const quietMs = 5000;

/** Which next keys of others the node says to accept. */
export class Acceptances {
  #keys = new Set<string>();
  #changedMs = Number.NEGATIVE_INFINITY;

  /** The own key has changed. */
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
