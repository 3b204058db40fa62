/** Joins a burst of calls into one run, `delayMs` after the first of them. */
export function joined(delayMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      run();
    }, delayMs);
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
