import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TableElement } from '../../model/service-table.ts';
import type { Frontend } from '../../model/service.ts';
import { arrange, ChangeCollector, chainsOf, elementsOf } from './elements.ts';

const plain: Frontend = {
  key: '10.96.0.10 . 6 . 80',
  family: 4,
  isNodePort: false,
  isUdp: false,
  all: ['10.16.0.2 . 8080', '10.16.0.3 . 8080'],
  local: undefined,
  refusal: undefined,
  outsideRefusal: undefined,
  isOfClientsNode: false,
  sourceRanges: undefined,
  affinitySeconds: undefined,
};

function elements(...frontends: readonly Frontend[]): readonly TableElement[] {
  return [...elementsOf({ frontends, clusterIps: [], healthCheck: undefined })];
}

function linesOf(all: readonly TableElement[]): readonly string[] {
  return all.map(({ set, key, value }) => (value === '' ? `${set} ${key}` : `${set} ${key} : ${value}`));
}

function differences(before: readonly TableElement[], after: readonly TableElement[]) {
  const collector = new ChangeCollector();
  collector.add(before, after);
  const { removed, added } = collector.changes;
  return { removed: linesOf(removed), added: linesOf(added) };
}

test('endpoints that stay keep their numbers, and the last endpoints take free numbers', () => {
  assert.deepEqual(arrange(['a', 'b', 'c'], ['a', 'b', 'c', 'd']), ['a', 'b', 'c', 'd']);
  assert.deepEqual(arrange(['a', 'b', 'c'], ['b', 'c']), ['c', 'b']);
  assert.deepEqual(arrange(['a', 'b', 'c'], ['c', 'd', 'b']), ['d', 'b', 'c']);
  assert.deepEqual(arrange([], ['a', 'b']), ['a', 'b']);
  assert.deepEqual(arrange(['a'], []), []);
});

describe('elements of a frontend', () => {
  test('are a verdict by the number of endpoints, and the endpoints by number', () => {
    assert.deepEqual(linesOf(elements(plain)), [
      'services4 10.96.0.10 . 6 . 80 : goto all4-2',
      'frontends4 10.96.0.10 . 6 . 80',
      'slots4 10.96.0.10 . 6 . 80 . 0 : 10.16.0.2 . 8080',
      'slots4 10.96.0.10 . 6 . 80 . 1 : 10.16.0.3 . 8080',
    ]);
  });

  test('include a separate list for external clients, and session affinity', () => {
    const [local] = [['10.16.0.3 . 8080']];
    const key = '0.0.0.0 . 6 . 30080';
    assert.deepEqual(linesOf(elements({ ...plain, key, isNodePort: true, local, affinitySeconds: 60 })), [
      `services4 ${key} : goto all4-port-sticky-2`,
      `frontends4 ${key}`,
      `slots4 ${key} . 0 : 10.16.0.2 . 8080`,
      `slots4 ${key} . 1 : 10.16.0.3 . 8080`,
      `outside4 ${key} : goto local4-port-sticky-1`,
      `kept4 ${key}`,
      `local-slots4 ${key} . 0 : 10.16.0.3 . 8080`,
      `sticky4 ${key} : goto learn-60`,
      `sticky-endpoints4 ${key} . 10.16.0.2 . 8080`,
      `sticky-endpoints4 ${key} . 10.16.0.3 . 8080`,
    ]);
    assert.deepEqual(
      [...chainsOf(elements({ ...plain, local, affinitySeconds: 60 }))],
      ['all4-sticky-2', 'local4-sticky-1', 'learn-60'],
    );
  });

  test('include refusals', () => {
    const none = { ...plain, all: [] };
    assert.deepEqual(linesOf(elements({ ...none, refusal: 'drop' })), ['refused4 10.96.0.10 . 6 . 80 : drop']);
    assert.deepEqual(chainsOf(elements({ ...none, refusal: 'reject' })), new Set());
    assert.deepEqual(linesOf(elements({ ...plain, local: [], outsideRefusal: 'reject' })).slice(4), [
      'outside4 10.96.0.10 . 6 . 80 : accept',
      'kept4 10.96.0.10 . 6 . 80',
      'outside-refused4 10.96.0.10 . 6 . 80 : goto refuse',
    ]);
  });
});

describe('differences', () => {
  test('an added endpoint is one more element and another verdict', () => {
    const more = { ...plain, all: [...plain.all, '10.16.0.4 . 8080'] };
    assert.deepEqual(differences(elements(plain), elements(more)), {
      removed: ['services4 10.96.0.10 . 6 . 80 : goto all4-2'],
      added: ['services4 10.96.0.10 . 6 . 80 : goto all4-3', 'slots4 10.96.0.10 . 6 . 80 . 2 : 10.16.0.4 . 8080'],
    });
  });

  test('an equal element that one plan removes and another one adds stays', () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const collector = new ChangeCollector();
      const calls = [
        () => collector.add(elements(plain), []),
        () => collector.add([], elements({ ...plain, all: ['10.16.0.2 . 8080', '10.16.0.9 . 8080'] })),
      ];
      for (const at of order) calls[at]?.();
      assert.deepEqual(
        [linesOf(collector.changes.removed), linesOf(collector.changes.added)],
        [['slots4 10.96.0.10 . 6 . 80 . 1 : 10.16.0.3 . 8080'], ['slots4 10.96.0.10 . 6 . 80 . 1 : 10.16.0.9 . 8080']],
      );
    }
  });
});
