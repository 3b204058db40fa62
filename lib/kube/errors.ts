/** What can go wrong between us and the API server. Everything else that is thrown is a defect and crashes the process. */

/** Whether doing the same again can help: `never` means that the caller has to plan anew. */
export type Retry = 'backoff' | 'never';

/** The API server answered with an error. */
export class KubeApiError extends Error {
  readonly code = 'KubeApiError';
  readonly status: number;
  /** The Status object's reason, for example `Conflict`, `AlreadyExists`, `Expired`; empty when there was none. */
  readonly reason: string;
  /** From the header Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'KubeApiError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }

  /** 401 and 403 come right by themselves when tokens rotate or roles are still being installed. */
  get retry(): Retry {
    return this.status >= 500 || [401, 403, 408, 429].includes(this.status) ? 'backoff' : 'never';
  }

  /** The resource version or continue token is too old: list again. */
  get isExpired(): boolean {
    return this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone';
  }
}

const transientCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** No usable answer: refused, reset, silent, or not what an API server says. `cause` has the transport's error. */
export class KubeUnreachable extends Error {
  readonly code = 'KubeUnreachable';
  readonly retry: Retry = 'backoff';
  /** No connection came about: the API server cannot have seen the request. */
  readonly isUnsent: boolean;

  constructor(message: string, cause?: unknown, isUnsent = false) {
    super(cause instanceof Error ? `${message}: ${cause.message}` : message, { cause });
    this.name = 'KubeUnreachable';
    this.isUnsent = isUnsent;
  }

  /** A connection was refused or cut, as one is while servers start, are busy or change: the next may be taken. */
  get isTransient(): boolean {
    const code = (this.cause as { code?: unknown } | undefined)?.code;
    return typeof code === 'string' && transientCodes.has(code);
  }

  /** An answer had begun and then stayed silent: on a watch that may just mean that nothing happened. */
  get isSilence(): boolean {
    return (this.cause as { code?: unknown } | undefined)?.code === 'UND_ERR_BODY_TIMEOUT';
  }
}

/** The kubeconfig cannot be used; the message names the file and the field. */
export class KubeConfigError extends Error {
  readonly code = 'KubeConfigError';
  override name = 'KubeConfigError';
}

/** The lease went to another holder or could not be renewed in time: whoever acted under it must end now. */
export class LeaseLost extends Error {
  readonly code = 'LeaseLost';
  override name = 'LeaseLost';
}

/** What the request gives; undefined where the API server knows no such object. */
export async function orAbsent<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Errors of the way to the API server, as opposed to defects. */
export function isKubeError(error: unknown): error is KubeApiError | KubeUnreachable {
  return error instanceof KubeApiError || error instanceof KubeUnreachable;
}
