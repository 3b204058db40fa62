import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { readAs } from './read-as.ts';

const strange: unknown = JSON.parse('{ "length": { "toString": 0, "valueOf": 0 } }');

test('no value makes a schema throw', () => {
  for (const schema of [z.string().max(5), z.array(z.string()).max(5), z.object({ a: z.string().min(1) })]) {
    const parsed = readAs(schema, schema instanceof z.ZodObject ? { a: strange } : strange);
    assert.ok(!parsed.success);
    assert.notEqual(z.prettifyError(parsed.error), '');
  }
  assert.deepEqual(readAs(z.string().max(5), 'a'), { success: true, data: 'a' });
});
