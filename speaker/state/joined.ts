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
