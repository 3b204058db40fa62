import type { DatabaseSchema } from './schema/schema.ts';
import type { Row, WriteValue } from './value.ts';

export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface OvsdbOptions {
  /**
   * `unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`; several remotes are the members of one raft cluster. A function is called
   * before each round of attempts, because members change; an existing connection is kept.
   */
  readonly remotes: readonly string[] | (() => readonly string[]);
  /** For example `OVN_Northbound`. */
  readonly database: string;
  /**
   * Tables and columns to mirror: table → columns (all columns of the table if the list is absent). Tables and columns
   * that are not in the server's schema are omitted; `schema` contains the existing ones.
   */
  readonly monitor: Readonly<Record<string, readonly string[] | undefined>>;
  /**
   * Table → conditions: only rows that satisfy one of them are mirrored. A server older than Open vSwitch 2.6 sends all rows. Columns that its
   * schema lacks satisfy nothing.
   */
  readonly where?: Readonly<Record<string, readonly Condition[]>>;
  /** Connect only to the raft leader. Default: true with several remotes, or a function. */
  readonly leaderOnly?: boolean;
  /** An echo is sent after this idle time; without an answer in the same time again the connection ends. Default 10 000 ms; 0 is off. */
  readonly probeIntervalMs?: number;
  readonly tls?: TlsFiles;
  /** Indexes besides the uuid: table → column lists. Look up with `cache.table(t).byIndex`. */
  readonly indexes?: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly signal?: AbortSignal;
  /** Like `OvsdbClient.onState`, but also called while `openOvsdb` waits for the first sync. */
  readonly onState?: StateListener;
}

/** A row's change from a monitor. */
export interface Change {
  readonly table: string;
  readonly uuid: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

/** A comparison, mutation or operation of RFC 7047 §5, with values in this package's own form. */
export type Condition = readonly [
  column: string,
  fn: '==' | '!=' | '<' | '<=' | '>' | '>=' | 'includes' | 'excludes',
  value: WriteValue,
];
export type Mutation = readonly [column: string, mutator: 'insert' | 'delete' | '+=' | '-=', value: WriteValue];

export type Operation =
  | {
      readonly op: 'insert';
      readonly table: string;
      readonly row: Readonly<Record<string, WriteValue>>;
      readonly uuidName?: string;
    }
  | {
      readonly op: 'update';
      readonly table: string;
      readonly where: readonly Condition[];
      readonly row: Readonly<Record<string, WriteValue>>;
    }
  | {
      readonly op: 'mutate';
      readonly table: string;
      readonly where: readonly Condition[];
      readonly mutations: readonly Mutation[];
    }
  | { readonly op: 'delete'; readonly table: string; readonly where: readonly Condition[] }
  | {
      readonly op: 'select';
      readonly table: string;
      readonly where: readonly Condition[];
      readonly columns?: readonly string[];
    }
  | {
      readonly op: 'wait';
      readonly table: string;
      readonly where: readonly Condition[];
      readonly columns: readonly string[];
      readonly until: '==' | '!=';
      readonly rows: readonly Readonly<Record<string, WriteValue>>[];
      readonly timeoutMs?: number;
    }
  | { readonly op: 'comment'; readonly comment: string };

export interface TransactOptions {
  readonly signal?: AbortSignal;
  /** Default 30 000 ms. */
  readonly timeoutMs?: number;
}

export interface OperationResult {
  /** Of an insert. */
  readonly uuid?: string;
  /** Of update, mutate and delete. */
  readonly count?: number;
  /** Of a select. */
  readonly rows?: readonly Row[];
}

export interface TableCache {
  readonly rows: ReadonlyMap<string, Row>;
  /** Rows whose `columns` (an index of `OvsdbOptions.indexes`) have these values. */
  byIndex(columns: readonly string[], values: readonly (string | number | boolean)[]): readonly Row[];
}

export interface Cache {
  /** An empty table if the server has no table of that name. */
  table(name: string): TableCache;
}

/** The states for `onState`. `synced` follows each (re)connection once the cache equals the server again. */
export type ConnectionState = 'connecting' | 'synced' | 'disconnected';

/** `reason` comes with `disconnected`. */
export type StateListener = (state: ConnectionState, reason?: Error) => void;

export interface OvsdbClient {
  readonly schema: DatabaseSchema;
  readonly cache: Cache;
  readonly state: ConnectionState;
  /** Resolves when the cache equals the server (at once if it already does). */
  synced(): Promise<void>;
  /**
   * Runs one transaction. When it resolves, the cache holds its effects.
   * @throws TransactionRejected (which operation, table, error, details), OvsdbConnectionLost (the write may
   * or may not have happened: compare with the cache after the next `synced`), OvsdbTimeout.
   */
  transact(operations: readonly Operation[], options?: TransactOptions): Promise<readonly OperationResult[]>;
  /** Called once for each update from the server with all its changes. A re-sync arrives as the difference. */
  subscribe(listener: (changes: readonly Change[]) => void): () => void;
  onState(listener: StateListener): () => void;
  close(): Promise<void>;
}
