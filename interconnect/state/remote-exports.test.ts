import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeOf } from '../model/export-change.ts';
import type { ExportUpdate } from '../model/export-messages.ts';
import type { ExportedService } from '../model/exported-service.ts';
import { endpoint, exported } from '../model/testing-exports.ts';
import { RemoteExports } from './remote-exports.ts';

const web = exported('shop/web', ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
const db = exported('shop/db', ['10.0.0.9']);
const whole = (...services: readonly ExportedService[]) =>
  services.flatMap((service) => changeOf(undefined, service) ?? []);
const update = (rest: Partial<ExportUpdate>): ExportUpdate => ({
  revision: 1,
  begins: false,
  isComplete: true,
  members: [],
  expected: [],
  known: [],
  wanted: [],
  rejections: null,
  ...rest,
});
const first = update({
  begins: true,
  members: [
    { member: 'west', changed: whole(web, db), removed: [] },
    { member: 'north', changed: whole(web), removed: [] },
  ],
});
const keys = (exports: RemoteExports) =>
  [...exports.clusters].flatMap(([cluster, all]) => [...all.keys()].map((key) => `${cluster} ${key}`)).sort();

describe('the exports of the other clusters', () => {
  it('are found by cluster and by Service, and each update names what changed', () => {
    const exports = new RemoteExports();
    assert.equal(exports.isComplete, false);
    assert.deepEqual(exports.apply(first), new Set(['shop/web', 'shop/db']));
    assert.equal(exports.isComplete, true);
    assert.deepEqual(
      [...exports.of('shop/web')],
      [
        ['west', web],
        ['north', web],
      ],
    );
    assert.deepEqual([...exports.of('shop/none')], []);
    assert.deepEqual(exports.takeDirty(), new Set(['shop/web', 'shop/db']));
    const after = { ...web, endpoints: [endpoint('10.0.0.1', { isReady: false }), ...web.endpoints.slice(1)] };
    const change = changeOf(web, after);
    assert.ok(change);
    const member = { member: 'west', changed: [change], removed: ['shop/db', 'shop/unknown'] };
    assert.deepEqual(exports.apply(update({ members: [member] })), new Set(['shop/web', 'shop/db']));
    assert.deepEqual(exports.clusters.get('west'), new Map([['shop/web', after]]));
    assert.deepEqual([...exports.services()], ['shop/web']);
    assert.deepEqual(exports.apply(update({ members: [{ ...member, removed: [] }] })), new Set(), 'equal again');
  });

  it('stay over a session until its whole set is there', () => {
    const exports = new RemoteExports();
    exports.apply(first);
    exports.takeDirty();
    const west = { member: 'west', changed: whole(web), removed: [] };
    assert.deepEqual(exports.apply(update({ begins: true, isComplete: false, members: [west] })), new Set());
    assert.deepEqual(keys(exports), ['north shop/web', 'west shop/db', 'west shop/web']);
    assert.deepEqual(exports.apply(update({})), new Set(['shop/web', 'shop/db']));
    assert.deepEqual(keys(exports), ['west shop/web']);
    assert.deepEqual(exports.takeDirty(), new Set(['shop/web', 'shop/db']));
  });

  it('stay while the hub does not know the exports of their cluster', () => {
    const exports = new RemoteExports();
    exports.apply(first);
    exports.apply(update({ begins: true, expected: ['west', 'north'] }));
    assert.deepEqual(keys(exports), ['north shop/web', 'west shop/db', 'west shop/web']);
    assert.deepEqual(exports.expected, new Set(['west', 'north']));
    const west = { member: 'west', changed: whole(db), removed: [] };
    assert.deepEqual(exports.apply(update({ members: [west], known: ['west'] })), new Set(['shop/web']));
    assert.deepEqual(keys(exports), ['north shop/web', 'west shop/db']);
    exports.apply(update({ known: ['north'] }));
    assert.deepEqual(keys(exports), ['west shop/db']);
  });

  it('of a cluster are unknown until all of them were sent once in this process', () => {
    const exports = new RemoteExports();
    const part = { member: 'west', changed: whole(web), removed: [] };
    exports.apply(update({ begins: true, expected: ['west', 'north'] }));
    exports.apply(update({ isComplete: false, members: [part] }));
    assert.deepEqual(exports.unknown, new Set(['west', 'north']), 'the first part of them');
    exports.apply(update({ begins: true, isComplete: false, expected: ['north'], members: [part] }));
    assert.deepEqual(exports.unknown, new Set(['west', 'north']), 'the first part of another session');
    exports.apply(update({}));
    assert.deepEqual(exports.unknown, new Set(['north']));
    exports.apply(update({ known: ['north'] }));
    assert.deepEqual(exports.unknown, new Set(), 'without any export');
    exports.apply(update({ begins: true, expected: ['west', 'north'] }));
    assert.deepEqual(exports.unknown, new Set(), 'known from the session before');
    exports.reset();
    exports.apply(update({ begins: true, expected: ['west'] }));
    assert.deepEqual(exports.unknown, new Set(['west']));
    exports.reset();
    assert.deepEqual(exports.unknown, new Set());
  });

  it('refuse a change that builds on what this session has not sent, and keep what they have', () => {
    const exports = new RemoteExports();
    exports.apply(first);
    const change = changeOf(web, { ...web, affinitySeconds: 5 });
    assert.ok(change);
    const members = [{ member: 'west', changed: [change], removed: [] }];
    assert.equal(exports.apply(update({ begins: true, members })), undefined);
    assert.deepEqual(keys(exports), ['north shop/web', 'west shop/db', 'west shop/web']);
  });

  it('keep the rejections until they change, and forget everything with the membership', () => {
    const exports = new RemoteExports();
    const rejection = {
      kind: 'export',
      value: 'shop/web',
      code: 'X',
      message: '',
      holder: '',
      transitSwitch: '',
    } as const;
    exports.apply({ ...first, rejections: { rejections: [rejection] } });
    exports.apply(update({}));
    assert.deepEqual(exports.rejections, [rejection]);
    const unlisted = [{ code: 'MaxExports', exports: ['shop/late'] }];
    exports.apply(update({ rejections: { rejections: [rejection], unlisted } }));
    assert.deepEqual(
      exports.rejectionsOf('shop/late').map(({ code }) => code),
      ['MaxExports'],
    );
    assert.deepEqual(exports.rejectionsOf('shop/other'), []);
    exports.apply(update({ rejections: { rejections: [] } }));
    assert.deepEqual(exports.rejections, []);
    exports.takeDirty();
    exports.reset();
    assert.deepEqual([keys(exports), [...exports.services()], exports.isComplete], [[], [], false]);
    assert.deepEqual(exports.takeDirty(), new Set(['shop/web', 'shop/db']));
  });
});
