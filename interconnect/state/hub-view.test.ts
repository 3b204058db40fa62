import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HubUpdate } from '../model/messages.ts';
import { granted, west } from '../model/testing.ts';
import { HubView } from './hub-view.ts';

const update = (fields: Partial<HubUpdate>): HubUpdate => ({
  revision: 1,
  full: false,
  transitSwitches: [granted],
  members: [],
  removed: [],
  rejections: [],
  expected: [],
  silentDatabases: [],
  unreachedBy: [],
  tellsUnreached: true,
  carriesExports: true,
  carriesPods: true,
  takesPaths: true,
  ...fields,
});
const north = { ...west, name: 'north' };

describe('the view of the hub', () => {
  it('consists of the hub’s updates; a full update replaces all but the expected members', () => {
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

  it('does not contain which members reach the cluster if the hub is too old to report it', () => {
    const view = new HubView();
    assert.equal(view.unreachedBy, undefined, 'before it has spoken');
    view.apply(update({ tellsUnreached: false }), 0);
    assert.equal(view.unreachedBy, undefined);
    view.apply(update({ unreachedBy: ['west'] }), 0);
    assert.deepEqual(view.unreachedBy, new Set(['west']));
  });

  it('drops a member that is no longer expected and was not sent again', () => {
    const view = new HubView();
    view.apply(update({ full: true, members: [west, north] }), 0);
    view.apply(update({ revision: 0, full: true, expected: ['north', 'west'] }), 0);
    assert.deepEqual([...view.apply(update({ expected: ['west'], members: [north] }), 0).members], ['north']);
    assert.deepEqual([...view.members.keys()], ['west', 'north'], 'one that is told is there all the time');
    const news = view.apply(update({ revision: 2 }), 0);
    assert.deepEqual([[...news.members], [...view.members.keys()]], [['west'], ['north']]);
    assert.deepEqual([...view.apply(update({ revision: 3 }), 0).members], []);
    view.apply(update({ full: true, members: [north], expected: ['never'] }), 0);
    assert.deepEqual([...view.apply(update({ revision: 2 }), 0).members], ['never'], 'there may be something of it');
  });

  it('keeps a member that is no longer expected while an expected one may be its new name, or the hub has no state yet', () => {
    const view = new HubView();
    view.apply(update({ full: true, members: [west, north] }), 0);
    view.apply(update({ full: true, members: [north], expected: ['west'] }), 0);
    assert.deepEqual([...view.apply(update({ revision: 2, expected: ['nord'] }), 0).members], []);
    view.apply(update({ revision: 0, transitSwitches: [] }), 0);
    assert.deepEqual([...view.members.keys()], ['west', 'north']);
    const news = view.apply(update({ revision: 3, members: [{ ...west, name: 'nord' }] }), 0);
    assert.deepEqual(
      [[...news.members], [...view.members.keys()]],
      [
        ['west', 'nord'],
        ['north', 'nord'],
      ],
    );
  });

  it('contains transit switches once the hub answers to a state, also after the hub lost its data', () => {
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

  it('keeps former rejections until the hub has received the state again in a new session', () => {
    const view = new HubView();
    const rejection = { kind: 'prefix', value: 'x', code: 'c', message: 'm', holder: '', transitSwitch: '' } as const;
    view.apply(update({ rejections: [rejection] }), 0);
    view.apply(update({ revision: 0, full: true }), 0);
    assert.deepEqual(view.rejections, [rejection]);
    view.apply(update({ revision: 2 }), 0);
    assert.deepEqual(view.rejections, []);
  });

  it('loses nothing when the first update of a session reports silent databases', () => {
    const view = new HubView();
    view.apply(update({ revision: 7, full: true, members: [west] }), 0);
    const silent = { name: 'OVN_IC_Southbound', sinceMs: 1 };
    view.apply(update({ revision: 0, transitSwitches: [], expected: ['west'], silentDatabases: [silent] }), 0);
    assert.deepEqual([view.revision, view.switches, [...view.members.keys()]], [7, [granted], ['west']]);
    assert.deepEqual([view.silentDatabases, [...view.expected]], [[silent], ['west']]);
    view.apply(update({ revision: 0, full: true }), 0);
    assert.deepEqual([view.revision, view.silentDatabases], [0, []]);
  });

  it('keeps object identity while updates change nothing', () => {
    const view = new HubView();
    view.apply(update({ full: true }), 0);
    const { switches } = view;
    view.apply(update({ revision: 2, transitSwitches: structuredClone([granted]) }), 0);
    assert.equal(view.switches, switches);
  });
});
