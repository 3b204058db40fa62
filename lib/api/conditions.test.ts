import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { setCondition } from './conditions.ts';

const ready = { type: 'Ready', status: 'True', reason: 'Ok', message: 'all well' } as const;
const early = '2026-01-01T00:00:00Z';
const late = '2026-01-02T00:00:00Z';

test('a new condition gets the present time, and the others stay', () => {
  const before = setCondition(undefined, ready, early);
  assert.deepEqual(before, [{ ...ready, lastTransitionTime: early }]);
  const after = setCondition(before, { ...ready, type: 'Other' }, late);
  assert.equal(after[0], before[0]);
  assert.equal(after[1]?.lastTransitionTime, late);
});

test('an unchanged condition returns the same list object', () => {
  const before = setCondition(undefined, ready, early);
  assert.equal(setCondition(before, ready, late), before);
});

test('a changed message keeps the transition time, a changed status sets it', () => {
  const before = setCondition(undefined, ready, early);
  assert.equal(setCondition(before, { ...ready, message: 'well' }, late)[0]?.lastTransitionTime, early);
  assert.equal(setCondition(before, { ...ready, status: 'False' }, late)[0]?.lastTransitionTime, late);
  assert.equal(setCondition(before, { ...ready, observedGeneration: 2 }, late)[0]?.observedGeneration, 2);
});
