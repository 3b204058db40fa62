import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoint } from '../../model/testing-exports.ts';
import { SharedParts } from './shared-parts.ts';

const ports = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `${prefix}-${at}`, protocol: 'TCP' as const, port: at + 1 }));

test('equal parts of endpoints are one object, as long as all have not too many characters', () => {
  const parts = new SharedParts();
  const share = () => parts.endpoint(endpoint('10.1.0.1', { ports: ports('p', 2) })).ports;
  const first = share();
  assert.equal(share(), first);
  for (let at = 0; at < 200; at += 1) parts.endpoint(endpoint('10.1.0.2', { ports: ports(`long-${at}`, 100) }));
  const again = share();
  assert.notEqual(again, first, 'the parts were forgotten');
  assert.deepEqual(again, first);
  assert.equal(share(), again);
});
