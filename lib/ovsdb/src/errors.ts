/** Every error of this package. `code` is stable; `retry` tells whether and when the caller can repeat the request. */

export type Retry = 'now' | 'backoff' | 'never';

export abstract class OvsdbError extends Error {
  abstract readonly code: string;
  abstract readonly retry: Retry;
}

/** The connection ended, or there was none. */
export class OvsdbConnectionLost extends OvsdbError {
  override readonly name = 'OvsdbConnectionLost';
  readonly code = 'ovsdb.connection-lost';
  readonly retry = 'backoff';
  /** Whether the request had been handed to the socket, so that it may have taken effect. */
  readonly sent: boolean;
  /** The server answered but is not the leader: another member of its cluster leads, or an election is in progress. */
  readonly isElsewhere: boolean;

  constructor(
    message: string,
    options: { readonly sent?: boolean; readonly isElsewhere?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.sent = options.sent ?? false;
    this.isElsewhere = options.isElsewhere ?? false;
  }
}

/** No reply within the deadline; the request may still take effect. */
export class OvsdbTimeout extends OvsdbError {
  override readonly name = 'OvsdbTimeout';
  readonly code = 'ovsdb.timeout';
  readonly retry = 'backoff';
}

/** The peer sent a message that violates RFC 7047 or its own schema. */
export class OvsdbProtocolError extends OvsdbError {
  override readonly name = 'OvsdbProtocolError';
  readonly code = 'ovsdb.protocol';
  readonly retry = 'backoff';
}

/** The server refused a request as a whole, for example `unknown database` or `unknown method`. */
export class OvsdbRequestRefused extends OvsdbError {
  override readonly name = 'OvsdbRequestRefused';
  readonly code = 'ovsdb.request-refused';
  readonly retry = 'backoff';
  readonly method: string;
  /** The server's name of the error. */
  readonly error: string;
  readonly details: string | undefined;

  constructor(method: string, error: string, details: string | undefined) {
    super(`server refused ${method}: ${error}${details === undefined ? '' : `: ${details}`}`);
    this.method = method;
    this.error = error;
    this.details = details;
  }
}

/** The transaction had no effect. */
export class TransactionRejected extends OvsdbError {
  override readonly name = 'TransactionRejected';
  readonly code = 'ovsdb.transaction-rejected';
  readonly retry: Retry;
  /** Index of the operation at fault; undefined if the commit as a whole was refused (referential integrity, for example). */
  readonly operation: number | undefined;
  readonly op: string | undefined;
  readonly table: string | undefined;
  /** RFC 7047's word: `constraint violation`, `referential integrity violation`, `syntax error`, `timed out` … */
  readonly error: string;
  readonly details: string | undefined;

  constructor(fault: {
    readonly operation?: number | undefined;
    readonly op?: string | undefined;
    readonly table?: string | undefined;
    readonly error: string;
    readonly details?: string | undefined;
  }) {
    const where =
      fault.operation === undefined
        ? 'at commit'
        : `at operation ${fault.operation} (${[fault.op, fault.table].filter((part) => part !== undefined).join(' ')})`;
    super(`transaction rejected ${where}: ${fault.error}${fault.details === undefined ? '' : `: ${fault.details}`}`);
    this.operation = fault.operation;
    this.op = fault.op;
    this.table = fault.table;
    this.error = fault.error;
    this.details = fault.details;
    this.retry = transient.has(fault.error) ? 'backoff' : 'never';
  }
}

// A `wait` that ran out, and what a server says while its disk or its cluster is out of order.
const transient: ReadonlySet<string> = new Set([
  'timed out',
  'aborted',
  'resources exhausted',
  'I/O error',
  'cluster error',
  'canceled',
]);
