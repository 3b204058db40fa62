/** When the agent is told that this daemon still looks at its tunnels, though nothing about them changed. Pure. */
import type { GatewaySibling } from '../../lib/api/kinds/interconnect-gateway.ts';

const usualMs = 3000;
/** While a sibling is cut off, nobody who could take over notices by BFD that this node dies: silence has to tell. */
const cutOffMs = 1000;
/** Timers and answers of the API server are late by as much; a check must not be left out for that. */
const earlyMs = 100;

/** Milliseconds from one check to the next. */
export function checkEveryMs(siblings: readonly GatewaySibling[]): number {
  return siblings.some(({ cutOff }) => cutOff === true) ? cutOffMs : usualMs;
}

/** Whether a check is to be told now; `lastMs` is the time of the last one by the same clock, NaN where there was none. */
export function isCheckDue(siblings: readonly GatewaySibling[], lastMs: number, nowMs: number): boolean {
  // A time of the future was written before this node's clock was set back.
  return Number.isNaN(lastMs) || lastMs > nowMs || nowMs - lastMs >= checkEveryMs(siblings) - earlyMs;
}
