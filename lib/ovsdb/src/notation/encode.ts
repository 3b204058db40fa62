/** This package's values (value.ts) → RFC 7047 §5.1 values for a transaction. */
import type { BaseType, ColumnSchema } from '../schema/schema.ts';
import type { Atom, NamedUuid, WriteValue } from '../value.ts';

// A column the schema lacks is sent as plain text, for the server to name in its refusal.
const unknownColumn: BaseType = { type: 'string' };
const rowId: BaseType = { type: 'uuid' };

/**
 * Writes a value for a column. A list given for a map column is a set of its keys, as `mutate … delete` takes it.
 */
export function encodeValue(value: WriteValue, name: string, column: ColumnSchema | undefined): unknown {
  const key = column?.key ?? (name === '_uuid' || name === '_version' ? rowId : unknownColumn);
  if (value === null) return ['set', []];
  if (typeof value !== 'object') return encodeAtom(value, key);
  if (isList(value))
    return ['set', value.map((atom) => (column?.value === undefined ? encodeAtom(atom, key) : encodeKey(atom, key)))];
  if (column?.value === undefined && isNamed(value)) return encodeAtom(value, key);
  const type = column?.value ?? unknownColumn;
  return ['map', Object.entries(value).map(([entry, atom]) => [encodeKey(entry, key), encodeAtom(atom, type)])];
}

function encodeAtom(atom: Atom | NamedUuid, type: BaseType): unknown {
  if (typeof atom === 'object') return ['named-uuid', atom.named];
  return type.type === 'uuid' ? ['uuid', atom] : atom;
}

/** Keys of our maps are strings whatever their type in the schema. */
function encodeKey(key: Atom | NamedUuid, type: BaseType): unknown {
  if (typeof key !== 'string') return encodeAtom(key, type);
  if (type.type === 'integer' || type.type === 'real') return Number(key);
  return encodeAtom(type.type === 'boolean' ? key === 'true' : key, type);
}

function isList(value: WriteValue & object): value is readonly (Atom | NamedUuid)[] {
  return Array.isArray(value);
}

function isNamed(value: WriteValue & object): value is NamedUuid {
  return 'named' in value && typeof value.named === 'string';
}
