/** Calls `run` once there was no call for `delayMs`, and at most `mostMs` after the first call. */
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
