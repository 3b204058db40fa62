import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hopKey, WithheldRoutes } from './withheld-routes.ts';

const key = hopKey('10.0.0.0/8', '172.31.1.1');
const none = new Set<string>();

test('a withheld route stays withheld while the router announces it, and is released once it was withdrawn', () => {
  const withheld = new WithheldRoutes();
  withheld.add([key], 0);
  assert.equal(withheld.forget(new Set([key]), 10_000_000), undefined);
  assert.deepEqual([...withheld.keys], [key]);
  assert.equal(withheld.forget(none, 10_000_000), undefined);
  assert.equal(withheld.size, 0);
});

test('a route that is withheld repeatedly stays withheld for longer each time, for an hour at most', () => {
  const withheld = new WithheldRoutes();
  const holds = [60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000, 3_600_000, 3_600_000];
  for (const holdMs of holds) {
    withheld.add([key], 0);
    assert.equal(withheld.forget(none, 0), holdMs);
    assert.equal(withheld.forget(none, holdMs - 1), 1);
    assert.equal(withheld.size, 1);
    assert.equal(withheld.forget(none, holdMs), undefined);
    assert.equal(withheld.size, 0);
  }
});

test('a route that was withheld without need is not withheld for longer later', () => {
  const withheld = new WithheldRoutes();
  withheld.add([key, 'other'], 0);
  withheld.narrow((each) => each !== key);
  assert.deepEqual([...withheld.keys], ['other']);
  withheld.add([key], 0);
  assert.equal(withheld.forget(new Set(['other']), 0), 60_000);
});

test('the count of a route is kept for an hour after its release, and then forgotten', () => {
  const withheld = new WithheldRoutes();
  const hourMs = 3_600_000;
  withheld.add([key], 0);
  withheld.forget(none, 60_000);
  withheld.add(['other'], 60_000 + hourMs - 1);
  assert.equal(withheld.remembered, 2);
  withheld.add(['other'], 60_000 + hourMs);
  assert.equal(withheld.remembered, 1, 'of those that are withheld now');
  withheld.add([key], 60_000 + hourMs);
  assert.equal(withheld.forget(new Set(['other']), 60_000 + hourMs), 60_000, 'as for the first time');
});
