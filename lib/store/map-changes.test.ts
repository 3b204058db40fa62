import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changesBetween, takeChanges } from './map-changes.ts';

describe('changes between maps', () => {
  const before = new Map([
    ['same', 1],
    ['other', 2],
    ['gone', 3],
  ]);
  const after = new Map([
    ['same', 1],
    ['other', 20],
    ['new', 4],
  ]);

  it('are the entries that came, went, or have another value', () => {
    assert.deepEqual(
      [...changesBetween(before, after)],
      [
        ['other', 2, 20],
        ['gone', 3, undefined],
        ['new', undefined, 4],
      ],
    );
  });

  it('are all entries where nothing was known', () => {
    assert.deepEqual([...changesBetween(undefined, new Map([['a', 1]]))], [['a', undefined, 1]]);
  });
});

describe('changes that a map takes', () => {
  it('set and delete entries, and are named if they change something', () => {
    const map = new Map([
      ['same', 1],
      ['gone', 2],
    ]);
    const changes = new Map([
      ['same', 1],
      ['gone', undefined],
      ['never', undefined],
      ['new', 3],
    ]);
    assert.deepEqual(takeChanges(map, changes), ['gone', 'new']);
    assert.deepEqual(
      [...map],
      [
        ['same', 1],
        ['new', 3],
      ],
    );
  });
});
