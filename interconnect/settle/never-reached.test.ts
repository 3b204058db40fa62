import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Member } from '../model/messages.ts';
import { neverReached } from './never-reached.ts';
import { west } from '../model/testing.ts';

const met = (expected: readonly string[], carried: readonly string[], members: readonly Member[] = []) =>
  neverReached(
    { expected: new Set(expected), members: new Map(members.map((member) => [member.name, member])) },
    () => new Map(carried.map((handle) => [handle, new Set()])),
  );

describe('clusters that the hub only expects', () => {
  it('count as unreached if this cluster has no state of them and no routes to them', () => {
    assert.deepEqual(met(['north'], []), ['north']);
    assert.deepEqual(met(['north', 'west'], ['west']), ['north']);
    assert.deepEqual(met(['north', 'west'], [], [west]), ['north']);
  });

  it('may be the cluster that existing routes name by its handle', () => {
    assert.deepEqual(met(['nord'], ['north']), []);
    assert.deepEqual(met(['nord'], ['west'], [{ ...west, name: 'occident' }]), ['nord'], 'these are another’s');
  });
});
