/** When the time of the last check is written, although no tunnel has changed: it shows the agent that this daemon still works. Pure. */
import type { GatewaySibling } from '../../lib/api/kinds/interconnect-gateway.ts';

const usualMs = 3000;
/** While a sibling is cut off, it cannot notice by BFD that this node dies; only the missing checks show it. */
const cutOffMs = 1000;
/** Timers and answers of the API server are late by about this time; a check must not be skipped because of that. */
const earlyMs = 100;

/** Milliseconds from one check to the next. */
export function checkEveryMs(siblings: readonly GatewaySibling[]): number {
  return siblings.some(({ cutOff }) => cutOff === true) ? cutOffMs : usualMs;
}

/** Whether the time must be written now; `lastMs` is the last written time by the same clock, NaN if there is none. */
export function isCheckDue(siblings: readonly GatewaySibling[], lastMs: number, nowMs: number): boolean {
  // A time in the future was written before the clock of this node was set back.
  return Number.isNaN(lastMs) || lastMs > nowMs || nowMs - lastMs >= checkEveryMs(siblings) - earlyMs;
}
