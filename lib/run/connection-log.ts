/**
 * Says of a database that a process cannot work without that it does not answer, and that it answers again. In: the states of the
 * connection. Out: one line each, the first only where its server stays away for longer than its own restart takes.
 */
export interface ConnectionLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ConnectionLogOptions {
  readonly log: ConnectionLogger;
  readonly database: string;
  readonly remotes: readonly string[];
  /** Nothing is logged once it is aborted. */
  readonly signal: AbortSignal | undefined;
  /** Default 5 seconds. */
  readonly patienceMs?: number;
}

const defaultPatienceMs = 5000;

/** A listener for `onState`. The time of the first connection counts from this call. */
export function connectionLog({
  log,
  database,
  remotes,
  signal,
  patienceMs = defaultPatienceMs,
}: ConnectionLogOptions): (state: string, reason?: Error) => void {
  const server = `${database} at ${remotes.join(', ')}`;
  let why: Error | undefined;
  let isReported = false;
  const tell = (): void => {
    if (signal?.aborted === true) return;
    isReported = true;
    log.warn({ err: why }, `${server} does not answer${why === undefined ? '' : `: ${why.message}`}; trying again`);
  };
  const begin = (): NodeJS.Timeout => setTimeout(tell, patienceMs).unref();
  let timer: NodeJS.Timeout | undefined = begin();
  return (state, reason) => {
    if (state !== 'synced') {
      why = reason ?? why;
      timer ??= begin();
      return;
    }
    clearTimeout(timer);
    timer = undefined;
    why = undefined;
    if (isReported) log.info({}, `${server} answers`);
    isReported = false;
  };
}
