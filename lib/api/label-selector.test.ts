import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesSelector, readSelector, selectorParts, unmetParts } from './label-selector.ts';

test('selectors match as in Kubernetes', () => {
  const labels = { a: '1', b: '2' };
  const is = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', key: string, values?: string[]) =>
    matchesSelector({ matchExpressions: [{ key, operator, ...(values && { values }) }] }, labels);
  assert.ok(matchesSelector({}, {}));
  assert.ok(matchesSelector({ matchLabels: { a: '1' } }, labels));
  assert.ok(!matchesSelector({ matchLabels: { a: '1', c: '3' } }, labels));
  assert.deepEqual([is('In', 'a', ['1', '9']), is('In', 'a', ['9']), is('In', 'c', ['1'])], [true, false, false]);
  assert.deepEqual([is('NotIn', 'a', ['1']), is('NotIn', 'a', ['9']), is('NotIn', 'c', ['1'])], [false, true, true]);
  assert.deepEqual(
    [is('Exists', 'a'), is('Exists', 'c'), is('DoesNotExist', 'a'), is('DoesNotExist', 'c')],
    [true, false, false, true],
  );
});

test('an invalid selector selects nothing', () => {
  const selector = { matchLabels: { a: '1' }, matchExpressions: [{ key: 'b', operator: 'Exists' }] };
  assert.deepEqual(readSelector({ ...selector, more: 1 }), selector);
  assert.ok(matchesSelector(readSelector({}), { a: '1' }));
  const bad = [{ operator: 'Exists' }, { key: 'a', operator: 'Is' }, { key: 'a', operator: 'In', values: '1' }, null];
  const wrong = [null, [], 'a=1', { matchLabels: 'a' }, { matchLabels: { a: 1 } }, { matchExpressions: {} }];
  for (const value of [...wrong, ...bad.map((one) => ({ matchExpressions: [one] }))])
    assert.ok(!matchesSelector(readSelector(value), { a: '1' }), JSON.stringify(value));
});

test('the parts of a selector are in the syntax of kubectl', () => {
  const matchExpressions = [
    { key: 'b', operator: 'NotIn' as const, values: ['1', '2'] },
    { key: 'c', operator: 'DoesNotExist' as const },
  ];
  assert.deepEqual(selectorParts({ matchLabels: { a: '1' }, matchExpressions }), ['a=1', 'b notin (1, 2)', '!c']);
  assert.deepEqual(selectorParts({}), []);
});

test('missing labels are listed requirement by requirement, in the syntax of kubectl', () => {
  const selector = {
    matchLabels: { a: '1', b: '3' },
    matchExpressions: [
      { key: 'c', operator: 'Exists' as const },
      { key: 'a', operator: 'NotIn' as const, values: ['1', '2'] },
      { key: 'b', operator: 'In' as const, values: ['2'] },
      { key: 'a', operator: 'DoesNotExist' as const },
    ],
  };
  const labels = { a: '1', b: '2' };
  assert.deepEqual(unmetParts(selector, labels), [
    'b=3 (it has b=2)',
    'c (it has no c)',
    'a notin (1, 2) (it has a=1)',
    '!a (it has a=1)',
  ]);
  assert.deepEqual(unmetParts({}, {}), []);
});
