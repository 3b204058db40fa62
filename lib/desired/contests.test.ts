import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import { ref, type Contribution, type Desired } from './row.ts';

const aSwitch: Desired = { rows: [{ table: 'Logical_Switch', key: 'ls', columns: {} }] };

function gives(entries: Readonly<Record<string, string | null>>, createdMs?: number): Desired {
  const contribution = { table: 'Logical_Switch', key: 'ls', column: 'other_config', entries };
  return { rows: [], contributions: [contribution], ...(createdMs === undefined ? {} : { createdMs }) };
}

describe('an entry that two owners want with different values', () => {
  let bed: NorthboundBed;
  let target: OvsdbTarget;

  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());
  beforeEach(async () => {
    target = await bed.reset();
    target.set('subnet/ls', aSwitch);
    target.seal();
  });

  const config = (): unknown => bed.named('Logical_Switch', 'ls')?.['other_config'];
  const codes = (): Record<string, string> =>
    Object.fromEntries([...bed.problems].flatMap(([owner, problem]) => (problem ? [[owner, problem.code]] : [])));

  it('has the value of the older owner, in any order of arrival, and the younger owner has a problem', async () => {
    target.set('svc/young', gives({ a: 'young', own: 'young' }, 2000));
    await target.untilApplied();
    assert.deepEqual(config(), { a: 'young', own: 'young' });
    target.set('svc/old', gives({ a: 'old' }, 1000));
    await target.untilApplied();
    assert.deepEqual(config(), { a: 'old', own: 'young' });
    assert.deepEqual(codes(), { 'svc/young': 'EntryWantedTwice' });
    const message = bed.problems.get('svc/young')?.message ?? '';
    for (const part of ['entry "a" of other_config', 'Logical_Switch "ls"', 'room/svc/old'])
      assert.ok(message.includes(part), `${part} is missing in: ${message}`);
  });

  it('keeps the value of the older owner while the younger changes its plan, and other rows of the younger are written', async () => {
    target.set('svc/old', gives({ a: 'old' }, 1000));
    target.set('svc/young', gives({ a: 'young' }, 2000));
    await target.untilApplied();
    target.set('svc/young', {
      ...gives({ a: 'younger', b: 'free' }, 2000),
      rows: [{ table: 'Port_Group', key: 'pg', columns: {} }],
    });
    await target.untilApplied();
    assert.deepEqual(config(), { a: 'old', b: 'free' });
    assert.notEqual(bed.named('Port_Group', 'pg'), undefined);
    assert.deepEqual(codes(), { 'svc/young': 'EntryWantedTwice' });
    target.set('svc/young', gives({ b: 'free' }, 2000));
    await target.untilApplied();
    assert.deepEqual(config(), { a: 'old', b: 'free' });
    assert.deepEqual(codes(), {});
  });

  it('goes to the younger owner in the transaction that takes it from the older', async () => {
    target.set('svc/old', gives({ a: 'old' }, 1000));
    target.set('svc/young', gives({ a: 'young' }, 2000));
    await target.untilApplied();
    const seen: unknown[] = [];
    const stop = bed.client.subscribe(() => seen.push(config()));
    bed.transactions.length = 0;
    target.drop('svc/old');
    await target.untilApplied();
    stop();
    assert.deepEqual(seen, [{ a: 'young' }]);
    assert.equal(bed.transactions.length, 1);
    assert.deepEqual(codes(), {});
    target.drop('svc/young');
    await target.untilApplied();
    assert.deepEqual(config(), {});
  });

  it('changes as often as the older owner comes and goes, and no other client is blamed', async () => {
    target.set('svc/young', gives({ a: 'young' }, 2000));
    for (let turn = 0; turn < 10; turn++) {
      target.set('svc/old', gives({ a: 'old' }, 1000));
      await target.untilApplied();
      assert.deepEqual([config(), codes()], [{ a: 'old' }, { 'svc/young': 'EntryWantedTwice' }]);
      target.drop('svc/old');
      await target.untilApplied();
      assert.deepEqual([config(), codes()], [{ a: 'young' }, {}]);
    }
  });

  it('is no problem once both owners want the same value', async () => {
    target.set('svc/old', gives({ a: 'old' }, 1000));
    target.set('svc/young', gives({ a: 'young' }, 2000));
    await target.untilApplied();
    target.set('svc/old', gives({ a: 'young' }, 1000));
    await target.untilApplied();
    assert.deepEqual([config(), codes()], [{ a: 'young' }, {}]);
    target.drop('svc/old');
    await target.untilApplied();
    assert.deepEqual([config(), codes()], [{ a: 'young' }, {}]);
  });

  it('stays with the older owner while the plan that drops it waits', async () => {
    target.set('svc/old', gives({ a: 'old' }, 1000));
    target.set('svc/young', gives({ a: 'young' }, 2000));
    await target.untilApplied();
    const required: Contribution = {
      table: 'Port_Group',
      key: 'later',
      column: 'ports',
      values: [ref('Logical_Switch_Port', 'p')],
      required: true,
    };
    target.set('svc/old', { rows: [], contributions: [required], createdMs: 1000 });
    await target.untilApplied();
    assert.deepEqual(config(), { a: 'old' });
    assert.deepEqual(codes(), { 'svc/old': 'WaitingForRow', 'svc/young': 'EntryWantedTwice' });
    const parent = { table: 'Logical_Switch', key: 'ls', column: 'ports' };
    target.set('port/p', { rows: [{ table: 'Logical_Switch_Port', key: 'p', columns: {}, parent }] });
    target.set('group/later', { rows: [{ table: 'Port_Group', key: 'later', columns: {}, collects: ['ports'] }] });
    await target.untilApplied();
    assert.deepEqual([config(), codes()], [{ a: 'young' }, {}]);
  });

  it('holds back all of an owner that requires it, until it is free', async () => {
    const young = gives({ a: 'young' }, 2000);
    target.set('svc/old', gives({ a: 'old' }, 1000));
    target.set('svc/young', {
      ...young,
      rows: [{ table: 'Port_Group', key: 'pg', columns: {} }],
      contributions: (young.contributions ?? []).map((one) => ({ ...one, required: true })),
    });
    await target.untilApplied();
    assert.equal(bed.named('Port_Group', 'pg'), undefined);
    assert.deepEqual([config(), codes()], [{ a: 'old' }, { 'svc/young': 'EntryWantedTwice' }]);
    target.drop('svc/old');
    await target.untilApplied();
    assert.notEqual(bed.named('Port_Group', 'pg'), undefined);
    assert.deepEqual([config(), codes()], [{ a: 'young' }, {}]);
  });

  it('does not stay behind if the database refuses the rows of the owner that gets it', async () => {
    target.set('svc/old', gives({ a: 'old' }, 1000));
    target.set('svc/young', {
      ...gives({ a: 'young' }, 2000),
      rows: [{ table: 'Logical_Switch', key: 'bad', columns: { other_config: 5 } }],
    });
    await target.untilApplied();
    assert.deepEqual([config(), codes()], [{ a: 'old' }, { 'svc/young': 'DatabaseRefused' }]);
    target.drop('svc/old');
    await target.untilApplied();
    assert.deepEqual([config(), codes()], [{}, { 'svc/young': 'DatabaseRefused' }]);
  });

  it('is restored to the older owner’s value when another client writes the younger owner’s', async () => {
    target.set('svc/old', gives({ a: 'old' }, 1000));
    target.set('svc/young', gives({ a: 'young' }, 2000));
    await target.untilApplied();
    await bed.write({ op: 'update', table: 'Logical_Switch', where: [], row: { other_config: { a: 'young' } } });
    await target.untilApplied();
    assert.deepEqual([config(), codes()], [{ a: 'old' }, { 'svc/young': 'EntryWantedTwice' }]);
  });

  it('may also be wanted absent, or be a scalar', async () => {
    target.set('svc/old', gives({ a: null }, 1000));
    target.set('svc/young', gives({ a: 'young' }, 2000));
    const scalar = (value: string): Contribution => ({ table: 'NB_Global', key: '.', column: 'name', value });
    target.set('zone/old', { rows: [], contributions: [scalar('east')], createdMs: 1000 });
    target.set('zone/young', { rows: [], contributions: [scalar('west')], createdMs: 2000 });
    await bed.write({ op: 'insert', table: 'NB_Global', row: {} });
    await target.untilApplied();
    assert.deepEqual(config(), {});
    assert.equal(bed.rows('NB_Global')[0]?.['name'], 'east');
    assert.deepEqual(codes(), { 'svc/young': 'EntryWantedTwice', 'zone/young': 'EntryWantedTwice' });
    assert.match(bed.problems.get('zone/young')?.message ?? '', /^name in NB_Global "\." belongs to room\/zone\/old/);
    target.drop('svc/old');
    target.drop('zone/old');
    await target.untilApplied();
    assert.deepEqual([config(), bed.rows('NB_Global')[0]?.['name'], codes()], [{ a: 'young' }, 'west', {}]);
  });

  it('has the same owner after a restart, whatever the order of plans, and nothing is written', async () => {
    const plans: readonly (readonly [string, Desired])[] = [
      ['subnet/ls', aSwitch],
      // Of two without an age, and of two of the same age, the one that had it first keeps it.
      ['x/late', gives({ ageless: 'late' })],
      ['svc/late', gives({ even: 'late', aged: 'late' }, 1000)],
      ['x/early', gives({ ageless: 'early', mixed: 'ageless' })],
      ['svc/early', gives({ even: 'early', mixed: 'aged' }, 1000)],
      ['svc/aged', gives({ aged: 'first' }, 500)],
    ];
    for (const name of ['x/late', 'svc/late'])
      target.set(name, plans.find(([owner]) => owner === name)?.[1] as Desired);
    await target.untilApplied();
    for (const [owner, desired] of plans) target.set(owner, desired);
    await target.untilApplied();
    const expected = { ageless: 'late', even: 'late', mixed: 'ageless', aged: 'first' };
    const refused = { 'svc/early': 'EntryWantedTwice', 'svc/late': 'EntryWantedTwice', 'x/early': 'EntryWantedTwice' };
    assert.deepEqual([config(), codes()], [expected, refused]);
    for (const order of [plans, plans.toReversed()])
      for (const batchSize of [1, 500]) {
        target = bed.open({ batchSize });
        bed.problems.clear();
        bed.transactions.length = 0;
        for (const [owner, desired] of order) target.set(owner, desired);
        target.seal();
        await target.untilApplied();
        assert.deepEqual([config(), codes(), bed.transactions], [expected, refused, []]);
      }
  });
});
