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

/** Runs once there was no call for `delayMs`. */
export function quieted(delayMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, delayMs);
  };
}

/** Runs at the first call, then at most once every `intervalMs`; the last call is always followed by a run. */
export function paced(intervalMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isWanted = false;
  const turn = (): void => {
    timer = undefined;
    if (!isWanted) return;
    isWanted = false;
    timer = setTimeout(turn, intervalMs);
    run();
  };
  return () => {
    isWanted = true;
    if (timer === undefined) turn();
  };
}
