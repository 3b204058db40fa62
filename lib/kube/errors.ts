/** Errors between a room and the API server. Any other error is a defect and crashes the process. */
import { FatalError } from '../run/fatal-error.ts';

/** Whether a retry of the same request can succeed: `never` means that the caller needs a new plan. */
export type Retry = 'backoff' | 'never';

/** The API server answered with an error. */
export class KubeApiError extends Error {
  readonly code = 'KubeApiError';
  readonly status: number;
  /** The Status object's reason, for example `Conflict`, `AlreadyExists`, `Expired`; empty if it has none. */
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

  /** 401 and 403 are temporary while tokens rotate or roles are being installed. */
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

/** No usable answer: connection refused, reset, silent, or not an API server. `cause` has the transport's error. */
export class KubeUnreachable extends Error {
  readonly code = 'KubeUnreachable';
  readonly retry: Retry = 'backoff';
  /** No connection was established: the API server cannot have received the request. */
  readonly isUnsent: boolean;

  constructor(message: string, cause?: unknown, isUnsent = false) {
    super(cause instanceof Error ? `${message}: ${cause.message}` : message, { cause });
    this.name = 'KubeUnreachable';
    this.isUnsent = isUnsent;
  }

  /** The connection was refused or lost, as while servers start, are busy or are replaced: the next connection may succeed. */
  get isTransient(): boolean {
    const code = (this.cause as { code?: unknown } | undefined)?.code;
    return typeof code === 'string' && transientCodes.has(code);
  }

  /** An answer began and then stayed silent: on a watch this may only mean that there were no events. */
  get isSilence(): boolean {
    return (this.cause as { code?: unknown } | undefined)?.code === 'UND_ERR_BODY_TIMEOUT';
  }
}

/** The kubeconfig cannot be used; the message names the file and the field. */
export class KubeConfigError extends FatalError {
  readonly code = 'KubeConfigError';
  override name = 'KubeConfigError';
}

/** Another holder has the lease, or it could not be renewed in time: the former leader must end now. */
export class LeaseLost extends FatalError {
  readonly code = 'LeaseLost';
  override name = 'LeaseLost';
}

/** The result of the request; undefined if the object does not exist. */
export async function orAbsent<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Errors between a room and the API server, as opposed to defects. */
export function isKubeError(error: unknown): error is KubeApiError | KubeUnreachable {
  return error instanceof KubeApiError || error instanceof KubeUnreachable;
}
