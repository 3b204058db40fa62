/**
 * For tests: objects that Kubernetes could pass to a parser, most of them invalid in some field.
 *
 * In: the zod schemas of a kind. Out: arbitrary objects of that shape in which some fields are missing or have other
 * values: other types, texts that are huge or of any script, deep nesting. Their metadata is valid for the API server.
 * A parser must accept each of them, and its result must have the same types as for valid objects.
 */
import * as fc from 'fast-check';
import { z } from 'zod';
import { annotation } from './api/names.ts';
import type { RawObject } from './kube/types.ts';

export type Parser = (raw: RawObject) => unknown;

/** The fields of an object besides its metadata. */
export interface ObjectSchemas {
  readonly spec?: z.ZodType | undefined;
  readonly status?: z.ZodType | undefined;
  readonly data?: z.ZodType | undefined;
  readonly endpoints?: z.ZodType | undefined;
  readonly ports?: z.ZodType | undefined;
  readonly routes?: z.ZodType | undefined;
  readonly cidr?: z.ZodType | undefined;
}

/** Each run is the same, so that a failure can be repeated. */
const seed = 77;
const runs = 300;
const samples = 300;

interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Parses arbitrary valid and invalid objects of the shape. @throws if the parser throws, or returns a value of another shape */
export function fuzzParser(parse: Parser, schemas: ObjectSchemas): void {
  const rightOnes = objectsOf(schemas);
  const shape = new Shape();
  for (const raw of fc.sample(rightOnes, { numRuns: samples, seed })) shape.learn(parse(raw));
  fc.assert(
    fc.property(wrongOnes(rightOnes), (raw) => {
      const flaw = shape.flawOf(parse(raw));
      if (flaw !== undefined) throw new Error(flaw);
    }),
    { numRuns: runs, seed },
  );
}

function objectsOf({ spec, status, data, endpoints, ports, routes, cidr }: ObjectSchemas): fc.Arbitrary<RawObject> {
  const fields = Object.fromEntries(
    Object.entries({ spec, status, data, endpoints, ports, routes, cidr }).flatMap(([name, schema]) =>
      schema === undefined ? [] : [[name, valuesOf(z.toJSONSchema(schema, { io: 'input' }) as JsonSchema)] as const],
    ),
  );
  return fc.record({ metadata, ...fields }, { requiredKeys: ['metadata'] });
}

/** Texts that some field means something by. */
const meaningful = fc.constantFrom(
  '10.16.0.0/16',
  '10.16.0.5',
  '10.16.0.5..10.16.0.9',
  'fd00:10::/64',
  'fd00:10::5',
  '10.16.0.0/16,fd00:10::/64',
  '10.16.0.0/33',
  '0.0.0.0/0',
  '::/0',
  '00:00:00:00:00:01',
  'n1',
  'ovn-default',
  'ovn-cluster',
  'default/web',
  'tcp:172.30.1.10:6642',
  '65001',
  '-1',
  '1e400',
  'true',
  '{"a":1}',
  '[',
  ',',
  '..',
  '/',
  'a=b,c=d',
  '2026-01-01T00:00:00Z',
);
const texts = fc.oneof(
  meaningful,
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

const labels = fc.dictionary(texts, texts, { maxKeys: 4 });
const annotations = fc.dictionary(fc.oneof(fc.constantFrom(...Object.values(annotation)), texts), texts, {
  maxKeys: 8,
});
const metadata = fc.record(
  {
    name: meaningful,
    namespace: meaningful,
    uid: fc.uuid(),
    resourceVersion: fc.nat().map(String),
    generation: fc.nat(),
    creationTimestamp: fc.constantFrom('2026-01-01T00:00:00Z', '0001-01-01T00:00:00Z', 'null'),
    deletionTimestamp: fc.constant('2026-01-02T00:00:00Z'),
    labels,
    annotations,
    finalizers: fc.array(texts, { maxLength: 3 }),
    ownerReferences: fc.array(
      fc.record(
        { kind: texts, name: texts, uid: fc.uuid(), controller: fc.boolean() },
        { requiredKeys: ['kind', 'name', 'uid'] },
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ['name', 'uid', 'resourceVersion'] },
);

/** Values that a schema allows, and texts that its pattern does not. */
function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.type === 'object') return mapsOf(schema);
  if (schema.type === 'array') return fc.array(valuesOf(schema.items ?? {}), { maxLength: 3 });
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer' || schema.type === 'number') {
    const [min, max] = [schema.minimum ?? -100, Math.min(schema.maximum ?? 100_000, 2 ** 31)];
    return fc.integer({ min: Math.max(min, -(2 ** 31)), max });
  }
  return schema.type === 'string' ? texts : fc.jsonValue({ maxDepth: 2 });
}

function mapsOf({ properties, required = [], additionalProperties }: JsonSchema): fc.Arbitrary<unknown> {
  if (properties === undefined) {
    const values =
      typeof additionalProperties === 'object' ? valuesOf(additionalProperties) : fc.jsonValue({ maxDepth: 1 });
    return fc.dictionary(texts, values, { maxKeys: 3 });
  }
  const fields = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, valuesOf(one)]));
  return fc.record(fields, { requiredKeys: [...required] });
}

const deep = Array.from({ length: 500 }).reduce<unknown>(
  (inner, _, index) => (index % 2 === 0 ? [inner] : { a: inner }),
  null,
);

/** JSON values that replace a valid one; undefined removes the field. */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    true,
    false,
    0,
    -1,
    0.5,
    2 ** 53,
    1e308,
    '',
    'x'.repeat(100_000),
    [],
    {},
    [[]],
    [null],
  ),
  fc.constant(deep),
  fc.constantFrom<unknown>(
    JSON.parse(
      '{"__proto__":{"type":"x"},"constructor":1,"toString":2,"length":{"toString":0,"valueOf":0}}',
    ) as unknown,
    { matchLabels: 'a', matchExpressions: 'b' },
    { matchLabels: { a: 1, b: null }, matchExpressions: [null, { key: 1 }, { key: 'a', operator: 'Is', values: 'b' }] },
    [
      { type: 1, status: true, reason: [] },
      { type: 'Ready', status: 3, message: {}, observedGeneration: 'x' },
    ],
  ),
  texts,
  fc.jsonValue({ maxDepth: 3 }),
);

/** The same objects with some of their fields, however deep, replaced. */
function wrongOnes(rightOnes: fc.Arbitrary<RawObject>): fc.Arbitrary<RawObject> {
  const changes = fc.array(fc.record({ path: fc.array(fc.nat({ max: 30 }), { maxLength: 6 }), value: junk }), {
    minLength: 1,
    maxLength: 4,
  });
  return fc.tuple(rightOnes, changes).map(([raw, list]) => {
    let fields: unknown = Object.fromEntries(Object.entries(raw).filter(([name]) => name !== 'metadata'));
    for (const { path, value } of list) fields = replaced(fields, path, value);
    const object = typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? fields : {};
    return { ...object, metadata: raw.metadata };
  });
}

function replaced(inside: unknown, [step, ...rest]: readonly number[], value: unknown): unknown {
  if (step === undefined || typeof inside !== 'object' || inside === null) return value;
  const names = Object.keys(inside);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return value;
  const [whole, part] = [inside as Readonly<Record<string, unknown>>, (inside as Record<string, unknown>)[name]];
  const next = replaced(part, rest, value);
  if (Array.isArray(inside)) return inside.map((one: unknown, index) => (index === Number(name) ? next : one));
  const entries = Object.entries(whole).flatMap(([each, one]) =>
    each !== name ? [[each, one] as const] : next === undefined ? [] : [[each, next] as const],
  );
  return Object.fromEntries(entries);
}

/** The types that values have at each place, learned from examples. */
class Shape {
  readonly #types = new Set<string>();
  readonly #fields = new Map<string, Shape>();
  /** Of lists, sets and maps, and of objects with keys of any name. */
  #members: Shape | undefined;

  learn(value: unknown): void {
    this.#types.add(typeOf(value));
    for (const [name, part] of partsOf(value)) {
      if (name === undefined) (this.#members ??= new Shape()).learn(part);
      else {
        let field = this.#fields.get(name);
        if (field === undefined) this.#fields.set(name, (field = new Shape()));
        field.learn(part);
      }
    }
  }

  /** Describes how `value` differs in type from every example. */
  flawOf(value: unknown, path = 'the parsed value'): string | undefined {
    // Examples that never have a value here say nothing of its type.
    if (this.#types.size === 1 && this.#types.has('undefined')) return undefined;
    const type = typeOf(value);
    if (!this.#types.has(type)) return `${path} is of type ${type}, and should be ${[...this.#types].join(' or ')}`;
    for (const [name, part] of partsOf(value)) {
      const known = name === undefined ? this.#members : this.#fields.get(name);
      // Keys that no example has are those of labels and the like.
      const flaw = known?.flawOf(part, name === undefined ? `${path}[]` : `${path}.${name}`);
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return Number.isNaN(value) ? 'NaN' : typeof value;
  return Array.isArray(value) ? 'list' : (Object.getPrototypeOf(value)?.constructor?.name ?? 'Object');
}

/** Members without a name, fields with one; statuses that are kept as they are have none. */
function partsOf(value: unknown): readonly (readonly [string | undefined, unknown])[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value) || value instanceof Set) return [...value].map((one: unknown) => [undefined, one] as const);
  if (value instanceof Map)
    return [...value].flatMap(([key, one]) => [[undefined, key] as const, [undefined, one] as const]);
  return Object.entries(value).filter(([name]) => name !== 'status');
}
