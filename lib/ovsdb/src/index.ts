/**
 * ovsdb-client: a client of OVSDB servers (RFC 7047 and ovsdb-server's extensions) that mirrors a database.
 * In: remotes, a database, what to mirror. Out: a cache that equals the server, its changes as they come, and
 * transactions. Folders: rpc (one connection), leader (which server will do), schema, notation (values on the wire),
 * monitor (keeps the cache), cache, transact. Nothing is ever sent twice: after a lost connection the caller
 * compares with the cache and decides anew.
 */
export type {
  Cache,
  Change,
  Condition,
  ConnectionState,
  Mutation,
  Operation,
  OperationResult,
  OvsdbClient,
  OvsdbOptions,
  StateListener,
  TableCache,
  TlsFiles,
  TransactOptions,
} from './client-types.ts';
export { openOvsdb } from './client.ts';
export {
  OvsdbConnectionLost,
  OvsdbError,
  OvsdbProtocolError,
  OvsdbRequestRefused,
  OvsdbTimeout,
  type Retry,
  TransactionRejected,
} from './errors.ts';
export { compareAtoms, sameRow, sameValue } from './notation/compare.ts';
export { parseSchema } from './schema/parse.ts';
export type { AtomType, BaseType, ColumnKind, ColumnSchema, DatabaseSchema, TableSchema } from './schema/schema.ts';
export type { Atom, NamedUuid, Row, Value, WriteValue } from './value.ts';
