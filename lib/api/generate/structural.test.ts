import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { rules } from '../kinds/shared.ts';
import { structuralSchema } from './structural.ts';

test('a field with a default is optional, integers have a format and only bounds of their own', () => {
  const schema = z.object({
    port: z.int().min(1).max(65535).default(179),
    asn: z.int().max(4294967295),
    any: z.int32(),
  });
  assert.deepEqual(structuralSchema(schema), {
    type: 'object',
    properties: {
      port: { type: 'integer', format: 'int32', default: 179, minimum: 1, maximum: 65535 },
      asn: { type: 'integer', format: 'int64', maximum: 4294967295 },
      any: { type: 'integer', format: 'int32' },
    },
    required: ['asn', 'any'],
  });
});

test('rules stay where they were written, also below arrays', () => {
  const rule = { rule: "self != ''", message: 'must not be empty' };
  const schema = structuralSchema(z.object({ list: z.array(z.string().meta(rules(rule))) }));
  assert.deepEqual(schema['properties'], {
    list: { type: 'array', items: { type: 'string', 'x-kubernetes-validations': [rule] } },
  });
});

test('a rule has reserved words of CEL escaped', () => {
  const message = 'must be so';
  assert.throws(() => rules({ rule: '!has(self.import) || self.import.node', message }), /\.__import__ for \.import/);
  assert.ok(rules({ rule: "!has(self.__import__) || self.interfaces == 'a.import'", message }));
});

test('a map keeps the type of its values, an open object its unknown fields', () => {
  const schema = z.object({ labels: z.record(z.string(), z.string()), raw: z.looseObject({ kind: z.string() }) });
  assert.deepEqual(structuralSchema(schema)['properties'], {
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    raw: {
      type: 'object',
      properties: { kind: { type: 'string' } },
      required: ['kind'],
      'x-kubernetes-preserve-unknown-fields': true,
    },
  });
});

test('a type that a structural schema cannot express is refused', () => {
  assert.throws(
    () => structuralSchema(z.object({ a: z.union([z.string(), z.number()]) })),
    /"anyOf".*structural schema/,
  );
});
