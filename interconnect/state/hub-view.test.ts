import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HubUpdate } from '../link/messages.ts';
import { granted, west } from '../plan/testing.ts';
import { HubView } from './hub-view.ts';

const update = (fields: Partial<HubUpdate>): HubUpdate => ({
  revision: 1,
  full: false,
  transitSwitches: [granted],
  members: [],
  removed: [],
  rejections: [],
  expected: [],
  ...fields,
});
const north = { ...west, name: 'north' };

describe('what the hub says', () => {
  it('is put together from its updates; a full one replaces all but what it expects', () => {
    const view = new HubView();
    view.apply(update({ full: true, members: [west, north] }), 0);
    assert.deepEqual([...view.apply(update({ removed: ['north'] }), 0).members], ['north']);
    view.apply(update({ members: [north] }), 0);
    const news = view.apply(update({ full: true, expected: ['west'] }), 0);
    assert.deepEqual([...view.members.keys()], ['west']);
    assert.deepEqual([...news.members], ['north']);
    view.apply(update({ full: false, removed: ['west'] }), 0);
    assert.equal(view.members.size, 0);
  });

  it('counts of transit switches once it answers to what it was told, also after it lost everything', () => {
    const view = new HubView();
    view.apply(update({ revision: 0, full: true, transitSwitches: [] }), 0);
    assert.ok(view.isReceived);
    assert.ok(!view.isComplete);
    view.apply(update({ revision: 1 }), 0);
    assert.ok(view.isComplete);
    view.apply(update({ revision: 0, full: true, transitSwitches: [] }), 0);
    assert.deepEqual(view.switches, [granted], 'a hub that knows nothing yet takes nothing away');
    view.apply(update({ revision: 2, transitSwitches: [] }), 0);
    assert.deepEqual(view.switches, []);
  });

  it('is the same object while it says the same', () => {
    const view = new HubView();
    view.apply(update({ full: true }), 0);
    const { switches } = view;
    view.apply(update({ revision: 2, transitSwitches: structuredClone([granted]) }), 0);
    assert.equal(view.switches, switches);
  });
});
