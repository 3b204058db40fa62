/** When the tunnels to gateways of the own cluster, which are told when they change, are told again though they did not. Pure. */
import type { GatewaySibling } from '../../lib/api/kinds/interconnect-gateway.ts';

/**
 * While a sibling is cut off, nobody who could take over notices by BFD that this node dies: silence has to tell.
 */
export const checkEveryMs = 1000;
/** Timers and answers of the API server are late by as much; a check must not be left out for that. */
const earlyMs = 100;

export function isWatched(siblings: readonly GatewaySibling[]): boolean {
  return siblings.some(({ cutOff }) => cutOff === true);
}

/** Whether a check is to be told now; `lastMs` is the time of the last one by the same clock, NaN where there was none. */
export function isCheckDue(siblings: readonly GatewaySibling[], lastMs: number, nowMs: number): boolean {
  if (!isWatched(siblings)) return false;
  // A time of the future was written before this node's clock was set back.
  return Number.isNaN(lastMs) || lastMs > nowMs || nowMs - lastMs >= checkEveryMs - earlyMs;
}
