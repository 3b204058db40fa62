import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertions, nexthopOf, prefixOf } from './foreign-rows.ts';

const plan = { transitSwitch: 'ts', network: '100.100.0.0/19', clusters: 1000, routesEach: 10 };

test('ten thousand routes have prefixes of their own, and a thousand clusters next hops within the network', () => {
  const prefixes = Array.from({ length: 10_000 }, (_, at) => prefixOf(at));
  assert.equal(new Set(prefixes).size, 10_000);
  const hops = Array.from({ length: 1000 }, (_, at) => nexthopOf(plan, at));
  assert.equal(new Set(hops).size, 1000);
  assert.equal(hops[0], '100.100.31.254');
  assert.ok(hops.every((hop) => Number(hop.split('.')[2]) >= 28));
});

test('every transaction is smaller than 128 KB, and no row is missing', () => {
  const transactions = insertions(plan);
  for (const operations of transactions) assert.ok(JSON.stringify(operations).length < 128_000);
  const rows = transactions.flat().map((operation) => ('table' in operation ? operation.table : ''));
  const count = (table: string): number => rows.filter((name) => name === table).length;
  assert.deepEqual(['Availability_Zone', 'Port_Binding', 'Route'].map(count), [1000, 1000, 10_000]);
});
