/**
 * RFC 7047 §5.1 values from the server → this package's values (value.ts).
 * Called for every column of every row: the reader of a column is chosen once, from its schema.
 */
import { OvsdbProtocolError } from '../errors.ts';
import type { BaseType, ColumnSchema } from '../schema/schema.ts';
import type { Atom, Value } from '../value.ts';
import { compareAtoms } from './compare.ts';

export type Decode = (wire: unknown) => Value;

/** The reader for one column. It throws OvsdbProtocolError on values that the schema does not allow. */
export function decoderOf(column: ColumnSchema): Decode {
  const key = atomDecoder(column.key);
  if (column.value !== undefined) return mapDecoder(key, atomDecoder(column.value));
  if (column.kind === 'scalar') return key;
  if (column.kind === 'optional') return (wire) => members(wire).map(key)[0] ?? null;
  return (wire) => members(wire).map(key).toSorted(compareAtoms);
}

/** The value of a column that update2 and update3 omit from a new row (ovsdb-server(7), "row-update2"). */
export function defaultOf(column: ColumnSchema): Value {
  if (column.kind === 'map') return emptyMap;
  if (column.min === 0) return column.kind === 'optional' ? null : emptySet;
  const atom = defaultAtom[column.key.type];
  return column.kind === 'scalar' ? atom : [atom];
}

const emptyMap: Value = Object.freeze({});
const emptySet: Value = Object.freeze([]);
const defaultAtom = {
  integer: 0,
  real: 0,
  boolean: false,
  string: '',
  uuid: '00000000-0000-0000-0000-000000000000',
} as const;

function atomDecoder(base: BaseType): (wire: unknown) => Atom {
  if (base.type === 'uuid') return decodeUuid;
  const expected = base.type === 'integer' || base.type === 'real' ? 'number' : base.type;
  return (wire) => {
    if (typeof wire !== expected) throw new OvsdbProtocolError(`expected a ${expected}, got ${JSON.stringify(wire)}`);
    return wire as Atom;
  };
}

/** `["uuid", "…"]` → the uuid. @throws OvsdbProtocolError */
export function decodeUuid(wire: unknown): string {
  const uuid: unknown = Array.isArray(wire) && wire[0] === 'uuid' ? wire[1] : undefined;
  if (typeof uuid !== 'string') throw new OvsdbProtocolError(`expected a uuid, got ${JSON.stringify(wire)}`);
  return uuid;
}

/** A set of one member may be written as the bare member (RFC 7047 §5.1 <set>). */
function members(wire: unknown): readonly unknown[] {
  if (!Array.isArray(wire) || wire[0] !== 'set') return [wire];
  const list: unknown = wire[1];
  if (!Array.isArray(list)) throw new OvsdbProtocolError(`expected a set, got ${JSON.stringify(wire)}`);
  return list;
}

function mapDecoder(key: (wire: unknown) => Atom, value: (wire: unknown) => Atom): Decode {
  return (wire) => {
    const pairs: unknown = Array.isArray(wire) && wire[0] === 'map' ? wire[1] : undefined;
    if (!Array.isArray(pairs)) throw new OvsdbProtocolError(`expected a map, got ${JSON.stringify(wire)}`);
    const entries = pairs.map((pair: unknown): [string, Atom] => {
      if (!Array.isArray(pair)) throw new OvsdbProtocolError(`expected a pair, got ${JSON.stringify(pair)}`);
      return [String(key(pair[0])), value(pair[1])];
    });
    return sortedMap(entries);
  };
}

/** A map whose keys are in one order, so that equal maps also print equally. */
export function sortedMap(entries: [string, Atom][]): Readonly<Record<string, Atom>> {
  // fromEntries defines own properties, so that a key `__proto__` is a key like any other.
  return Object.fromEntries(entries.sort(([a], [b]) => compareAtoms(a, b)));
}
