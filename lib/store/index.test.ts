import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LabelSelector } from '../api/kinds/shared.ts';
import { matchesSelector } from '../api/label-selector.ts';
import { randomOf } from '../testing-random.ts';
import { index } from './index.ts';
import { selectorIndex } from './selector-index.ts';
import { Store } from './store.ts';

interface Pod {
  readonly node?: string;
  readonly groups: readonly string[];
}

test('an index contains the existing objects and follows each change', () => {
  const pods = new Store<Pod>();
  pods.set('a', { node: 'n1', groups: ['g', 'h'] });
  const byNode = index(pods, ({ node }) => (node === undefined ? [] : [node]));
  const byGroup = index(pods, ({ groups }) => groups);
  pods.set('b', { node: 'n1', groups: ['g', 'g'] });
  assert.deepEqual([...byNode.of('n1')], ['a', 'b']);
  assert.deepEqual([...byGroup.of('g')], ['a', 'b']);
  pods.set('a', { node: 'n2', groups: ['h'] });
  assert.deepEqual([...byNode.of('n1')], ['b']);
  assert.deepEqual([...byGroup.of('g')], ['b']);
  assert.deepEqual([...byGroup.of('h')], ['a']);
  pods.delete('b');
  assert.deepEqual([...byNode.keys()], ['n2']);
  assert.deepEqual([...byGroup.of('g')], []);
  pods.clear();
  assert.deepEqual([...byNode.keys(), ...byGroup.keys()], []);
});

const pair = (key: string, value: string): LabelSelector => ({ matchLabels: { [key]: value } });
const expression = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: string[]) => ({
  matchExpressions: [{ key, operator, ...(values && { values }) }],
});

describe('an index of selectors', () => {
  test('reports the objects that a changed label concerns', () => {
    const store = new Store<readonly LabelSelector[]>();
    const selectors = selectorIndex(store, (list) => list);
    store.set('web', [pair('app', 'web')]);
    store.set('twin', [pair('app', 'web')]);
    store.set('db', [pair('app', 'db'), expression('tier', 'Exists')]);
    store.set('all', [{}]);
    assert.deepEqual([...selectors.concerned({}, { app: 'web' })].sort(), ['twin', 'web']);
    assert.deepEqual([...selectors.concerned({ app: 'web' }, { app: 'db' })].sort(), ['db', 'twin', 'web']);
    assert.deepEqual([...selectors.concerned({ app: 'db' }, { app: 'db', tier: '1' })], [], 'it was selected before');
    assert.deepEqual([...selectors.concerned({ other: '1' }, { other: '2' })], []);
  });

  test('gives the result of evaluating every selector, after random changes', () => {
    const random = randomOf(3);
    const store = new Store<readonly LabelSelector[]>();
    const selectors = selectorIndex(store, (list) => list);
    const value = (): string => `${random(3)}`;
    const key = (): string => `k${random(3)}`;
    const some = (): LabelSelector =>
      [
        pair(key(), value()),
        { matchLabels: { k0: value(), k1: value() } },
        expression(key(), 'In', [value(), value()]),
        expression(key(), 'NotIn', [value()]),
        expression(key(), 'Exists'),
        expression(key(), 'DoesNotExist'),
        {},
      ][random(7)] ?? {};
    for (let round = 0; round < 2000; round += 1) {
      const name = `o${random(6)}`;
      if (random(4) === 0) store.delete(name);
      else store.set(name, Array.from({ length: random(3) }, some));
      const labels = Object.fromEntries(Array.from({ length: random(4) }, () => [key(), value()]));
      const expected = [...store].filter(([, list]) => list.some((one) => matchesSelector(one, labels)));
      assert.deepEqual([...selectors.matching(labels)].sort(), expected.map(([owner]) => owner).sort());
    }
  });

  test('evaluates no selector for other labels', () => {
    let looks = 0;
    const store = new Store<readonly LabelSelector[]>();
    const selectors = selectorIndex(store, (list) => list);
    for (let i = 0; i < 1000; i += 1) {
      const matchLabels = {};
      Object.defineProperty(matchLabels, 'app', { enumerable: true, get: () => ((looks += 1), `a${i}`) });
      store.set(`s${i}`, [{ matchLabels }]);
    }
    looks = 0;
    assert.deepEqual([...selectors.matching({ app: 'a7', tier: 'x' })], ['s7']);
    assert.ok(looks < 10, `${looks} looks`);
  });
});
