/** Starts Isthmus's processes again a second after their end, as a Deployment would; later if they end again and again. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../../lib/run/logger.ts';
import { type Component, componentsIn, startComponent, stateOf } from '../component.ts';
import { directoriesOf } from '../heal.ts';
import type { Lab } from '../layout.ts';

const lookEveryMs = 250;
const firstPauseMs = 1000;
const longestPauseMs = 8000;
/** A process that lived so long ended for a new reason. */
const settledMs = 10_000;

interface Watched {
  readonly pauseMs: number;
  readonly startedAtMs: number;
  /** Set while it is dead. */
  readonly restartAtMs?: number;
}

/** Goes on until aborted. */
export async function supervise(lab: Lab, log: Logger, signal: AbortSignal): Promise<void> {
  const watched = new Map<string, Watched>();
  while (!signal.aborted) {
    for (const component of directoriesOf(lab).flatMap(componentsIn)) {
      if (!component.isSupervised) continue;
      const path = `${component.dir.slice(lab.dir.length + 1)}/${component.name}`;
      watched.set(path, await look(component, watched.get(path), log.child({ process: path })));
    }
    // Only the abort ends the pause early, and it ends the loop.
    await delay(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

async function look(component: Component, before: Watched | undefined, log: Logger): Promise<Watched> {
  const now = Date.now();
  const known = before ?? { pauseMs: firstPauseMs, startedAtMs: now };
  if (stateOf(component) !== 'dead') return { pauseMs: known.pauseMs, startedAtMs: known.startedAtMs };
  if (known.restartAtMs === undefined) {
    const isSettled = now - known.startedAtMs > settledMs;
    const pauseMs = isSettled || before === undefined ? firstPauseMs : known.pauseMs;
    log.warn({ pauseMs }, 'process ended, will be started again');
    return {
      startedAtMs: known.startedAtMs,
      restartAtMs: now + pauseMs - lookEveryMs,
      pauseMs: Math.min(pauseMs * 2, longestPauseMs),
    };
  }
  if (now < known.restartAtMs) return known;
  const pid = await startComponent(component);
  log.info({ pid }, 'process started');
  return { pauseMs: known.pauseMs, startedAtMs: now };
}
