/** Joins a burst of calls into one run, `delayMs` after the first of them and `spacingMs` after the run before. */
export function joined(delayMs: number, spacingMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let ranAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        ranAtMs = performance.now();
        run();
      },
      Math.max(delayMs, ranAtMs + spacingMs - performance.now()),
    );
  };
}

/** Runs once there was no call for `delayMs`, and not later than `mostMs` after the first, however many follow. */
export function quieted(delayMs: number, mostMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let latestMs = 0;
  return () => {
    const nowMs = performance.now();
    if (timer === undefined) latestMs = nowMs + mostMs;
    clearTimeout(timer);
    const go = (): void => {
      timer = undefined;
      run();
    };
    timer = setTimeout(go, Math.max(0, Math.min(delayMs, latestMs - nowMs)));
  };
}

/** Of the time, what repeated work may take. */
const share = 4;

/**
 * Runs at the first call, then at most once every `intervalMs`, and less often where a run takes long; the last call is always
 * followed by a run.
 */
export function paced(intervalMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isWanted = false;
  const turn = (): void => {
    timer = undefined;
    if (!isWanted) return;
    isWanted = false;
    const startedMs = performance.now();
    run();
    timer = setTimeout(turn, Math.max(intervalMs, share * (performance.now() - startedMs)));
  };
  return () => {
    isWanted = true;
    if (timer === undefined) turn();
  };
}
