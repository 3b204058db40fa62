import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DueFigures } from './due-figures.ts';

describe('figures of members', () => {
  const always = (): boolean => true;

  it('that are the same are not written', () => {
    const due = new DueFigures();
    for (const name of ['east', 'west']) due.changed(name);
    assert.deepEqual(
      due.take((name) => name === 'west', 0),
      ['west'],
    );
    assert.equal(due.isWaiting, false);
  });

  it('of many members are written a few at a time, the longest waiting first', () => {
    const due = new DueFigures();
    for (let at = 0; at < 30; at += 1) due.changed(`m${at}`);
    assert.equal(due.take(always, 0).length, 20);
    assert.deepEqual(due.take(always, 0).slice(0, 2), ['m20', 'm21']);
    assert.equal(due.isWaiting, false);
  });

  it('of a member that changes without end are written now and then, and in the end', () => {
    const due = new DueFigures();
    let written = 0;
    for (let ms = 0; ms < 600_000; ms += 2000) {
      due.changed('east');
      written += due.take(always, ms).length;
    }
    assert.ok(written <= 25, `${written} writes in ten minutes`);
    due.take(always, 700_000);
    for (const name of ['east', 'west']) due.changed(name);
    assert.ok(due.take(always, 700_000).includes('west'), 'one that flaps does not hold back others');
    for (let left = 10; left > 0; left -= 1) {
      due.changed('east');
      due.take(always, 700_000);
    }
    assert.deepEqual([due.take(always, 702_000), due.isWaiting], [[], true]);
    assert.deepEqual([due.take(always, 731_000), due.isWaiting], [['east'], false]);
  });
});
