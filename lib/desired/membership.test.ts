import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Atom } from 'ovsdb-client';
import { NorthboundBed } from './northbound-bed.ts';
import { openOvsdbTarget, type OvsdbTarget } from './ovsdb-target.ts';
import { ref, type Contribution, type Desired, type DesiredRow } from './row.ts';

function group(key: string): Desired {
  return { rows: [{ table: 'Port_Group', key, columns: {}, collects: ['ports'] }] };
}

function member(port: string, key: string, required = true): Contribution {
  return { table: 'Port_Group', key, column: 'ports', values: [ref('Logical_Switch_Port', port)], required };
}

function port(key: string): DesiredRow {
  const parent = { table: 'Logical_Switch', key: 'ls', column: 'ports' };
  return { table: 'Logical_Switch_Port', key, columns: { external_ids: { ls: 'ls' } }, parent };
}

function pod(key: string, ...groups: string[]): Desired {
  return { rows: [port(key)], contributions: groups.map((one) => member(key, one)) };
}

const aSwitch: Desired = { rows: [{ table: 'Logical_Switch', key: 'ls', columns: {} }] };

describe('owners and their contributions', () => {
  let bed: NorthboundBed;
  let target: OvsdbTarget;
  /** Ports seen in no group after some transaction, although every plan has one. */
  let bare: Set<string>;
  let unwatch: () => void;

  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());
  beforeEach(async () => {
    (unwatch as (() => void) | undefined)?.();
    target = await bed.reset();
    bare = new Set();
    unwatch = bed.client.subscribe(() => {
      const grouped = new Set(bed.rows('Port_Group').flatMap((row) => row['ports'] as string[]));
      for (const { _uuid, name } of bed.rows('Logical_Switch_Port')) if (!grouped.has(_uuid)) bare.add(String(name));
    });
  });

  it('writes a port with its memberships, also where the group comes many batches later', async () => {
    target = bed.open({ batchSize: 10 });
    target.set('subnet/ls', aSwitch);
    for (let i = 0; i < 60; i++) target.set(`pod/p${i}`, pod(`p${i}`, i % 2 === 0 ? 'even' : 'odd'));
    for (const one of ['even', 'odd']) target.set(`group/${one}`, group(one));
    target.seal();
    await target.untilApplied();
    assert.equal(bed.ports('Logical_Switch', 'ls').length, 60);
    assert.equal(bed.ports('Port_Group', 'even').length, 30);
    assert.deepEqual([...bare], []);
    assert.ok(bed.transactions.length >= 6, 'in several transactions');
  });

  it('waits with the port until a required group is there, and without the option goes ahead', async () => {
    target.set('subnet/ls', aSwitch);
    target.set('pod/safe', pod('safe', 'later'));
    target.set('pod/open', { rows: [port('open')], contributions: [member('open', 'later', false)] });
    await target.untilApplied();
    assert.deepEqual(bed.ports('Logical_Switch', 'ls'), ['open']);
    assert.equal(bed.problems.get('pod/safe')?.code, 'WaitingForRow');
    assert.match(bed.problems.get('pod/safe')?.message ?? '', /Port_Group "later"/);
    target.set('group/later', group('later'));
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'later'), ['open', 'safe']);
    assert.equal(bed.problems.get('pod/safe'), undefined);
    assert.deepEqual([...bare], ['open']);
  });

  it('moves between groups in one transaction, keeps the old one while the new one is missing', async () => {
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.set('pod/p', pod('p', 'a'));
    target.seal();
    await target.untilApplied();
    target.set('pod/p', pod('p', 'b'));
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p']);
    target.set('group/b', group('b'));
    await target.untilApplied();
    assert.deepEqual([bed.ports('Port_Group', 'a'), bed.ports('Port_Group', 'b')], [[], ['p']]);
    assert.deepEqual([...bare], []);
  });

  it('keeps the old group over a restart while the new one is missing', async () => {
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.set('pod/p', pod('p', 'a'));
    await target.untilApplied();
    target = bed.open();
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.set('pod/p', pod('p', 'b'));
    target.seal();
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p']);
    target.set('group/b', group('b'));
    await target.untilApplied();
    assert.deepEqual([bed.ports('Port_Group', 'a'), bed.ports('Port_Group', 'b')], [[], ['p']]);
    assert.deepEqual([...bare], []);
  });

  it('removes entries of a plan that was replaced before it could be applied', async () => {
    target.set('subnet/ls', aSwitch);
    for (const one of ['a', 'c']) target.set(`group/${one}`, group(one));
    target.set('pod/p', pod('p', 'a'));
    await target.untilApplied();
    target = bed.open();
    target.set('subnet/ls', aSwitch);
    for (const one of ['a', 'c']) target.set(`group/${one}`, group(one));
    target.set('pod/p', pod('p', 'a', 'missing'));
    target.seal();
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p']);
    target.set('pod/p', pod('p', 'c'));
    await target.untilApplied();
    assert.deepEqual([bed.ports('Port_Group', 'a'), bed.ports('Port_Group', 'c')], [[], ['p']]);
    assert.deepEqual([...bare], []);
  });

  it('leaves a port that it means to adopt in its group while the new one is missing', async () => {
    await bed.write(
      { op: 'insert', table: 'Logical_Switch_Port', row: { name: 'p' }, uuidName: 'p' },
      { op: 'insert', table: 'Logical_Switch', row: { name: 'ls', ports: [{ named: 'p' }] } },
      { op: 'insert', table: 'Port_Group', row: { name: 'a', ports: [{ named: 'p' }] } },
    );
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.set('pod/p', pod('p', 'b'));
    target.seal();
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p']);
    target.set('group/b', group('b'));
    await target.untilApplied();
    assert.deepEqual([bed.ports('Port_Group', 'a'), bed.ports('Port_Group', 'b')], [[], ['p']]);
    assert.deepEqual([...bare], []);
  });

  it('drops a group in the transaction that moves its last members, however many', async () => {
    target = bed.open({ batchSize: 5 });
    target.set('subnet/ls', aSwitch);
    for (const one of ['a', 'b']) target.set(`group/${one}`, group(one));
    for (let i = 0; i < 40; i++) target.set(`pod/p${i}`, pod(`p${i}`, 'a'));
    target.seal();
    await target.untilApplied();
    target.drop('group/a');
    for (let i = 0; i < 40; i++) target.set(`pod/p${i}`, pod(`p${i}`, 'b'));
    await target.untilApplied();
    assert.equal(bed.named('Port_Group', 'a'), undefined);
    assert.equal(bed.ports('Port_Group', 'b').length, 40);
    assert.deepEqual([...bare], []);
  });

  it('takes memberships back with the rows, and leaves alone what another owner gives too', async () => {
    const gives = (...values: string[]): Desired => ({
      rows: [],
      contributions: [{ table: 'Address_Set', key: 'as', column: 'addresses', values }],
    });
    target.set('set/as', { rows: [{ table: 'Address_Set', key: 'as', columns: {}, collects: ['addresses'] }] });
    target.set('subnet/ls', aSwitch);
    target.set('pod/p', { ...gives('10.0.0.1', '10.0.0.9'), rows: [port('p')] });
    target.set('pod/q', gives('10.0.0.9'));
    await target.untilApplied();
    const seen: [number, readonly Atom[]][] = [];
    const stop = bed.client.subscribe(() =>
      seen.push([bed.rows('Logical_Switch_Port').length, bed.named('Address_Set', 'as')?.['addresses'] as Atom[]]),
    );
    target.drop('pod/p');
    await target.untilApplied();
    stop();
    assert.deepEqual(seen, [[0, ['10.0.0.9']]], 'port and address went at once');
  });

  it('repairs a removed member, an added stray, and a group that another client recreated', async () => {
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.set('pod/p', pod('p', 'a'));
    target.seal();
    await target.untilApplied();
    await bed.write(
      { op: 'insert', table: 'Logical_Switch_Port', row: { name: 'stray' }, uuidName: 'stray' },
      { op: 'insert', table: 'Logical_Switch', row: { name: 'theirs', ports: [{ named: 'stray' }] } },
      { op: 'update', table: 'Port_Group', where: [], row: { ports: [{ named: 'stray' }] } },
    );
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p']);
    await bed.write(
      { op: 'delete', table: 'Port_Group', where: [] },
      { op: 'insert', table: 'Port_Group', row: { name: 'a' } },
    );
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p']);
  });

  it('leaves the members that another room contributes, until that room takes them back', async () => {
    const logger = { info: () => undefined, warn: () => undefined };
    const other = openOvsdbTarget({ client: bed.client, room: 'other', logger });
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.set('pod/p', pod('p', 'a'));
    await target.untilApplied();
    other.set('import/q', pod('q', 'a'));
    await other.untilApplied();
    target.seal();
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p', 'q']);
    target = bed.open();
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.seal();
    await target.untilApplied();
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['q'], 'after a restart too');
    other.drop('import/q');
    await other.untilApplied();
    other.close();
    assert.deepEqual(bed.ports('Port_Group', 'a'), []);
  });

  it('refers to a row of another owner again after the row was recreated', async () => {
    target.set('subnet/ls', aSwitch);
    target.set('pod/p', { rows: [port('p')] });
    target.set('group/a', group('a'));
    target.set('selector/s', { rows: [], contributions: [member('p', 'a')] });
    await target.untilApplied();
    const uuid = bed.named('Logical_Switch_Port', 'p')?._uuid;
    await bed.write({ op: 'update', table: 'Logical_Switch', where: [], row: { ports: [] } });
    await target.untilApplied();
    assert.notEqual(bed.named('Logical_Switch_Port', 'p')?._uuid, uuid);
    assert.deepEqual(bed.ports('Port_Group', 'a'), ['p']);
  });

  it('the first of two owners that disagree on an entry decides, then the other', async () => {
    const gives = (a: string): Desired => ({
      rows: [],
      contributions: [{ table: 'Logical_Switch', key: 'ls', column: 'other_config', entries: { a } }],
    });
    target.set('subnet/ls', aSwitch);
    target.set('first/x', gives('1'));
    target.set('second/x', gives('2'));
    await target.untilApplied();
    assert.deepEqual(bed.named('Logical_Switch', 'ls')?.['other_config'], { a: '1' });
    target.drop('first/x');
    await target.untilApplied();
    assert.deepEqual(bed.named('Logical_Switch', 'ls')?.['other_config'], { a: '2' });
    target.drop('second/x');
    await target.untilApplied();
    assert.deepEqual(bed.named('Logical_Switch', 'ls')?.['other_config'], {});
  });

  it('reports one result for one plan, and none for the echo of its own write', async () => {
    let results = 0;
    target.onResult(() => (results += 1));
    target.set('subnet/ls', aSwitch);
    target.set('group/a', group('a'));
    target.set('pod/p', pod('p', 'a'));
    await target.untilApplied();
    assert.equal(results, 3);
    await bed.write({ op: 'update', table: 'Logical_Switch_Port', where: [], row: { external_ids: {} } });
    await target.untilApplied();
    assert.equal(bed.problems.get('pod/p'), undefined);
    assert.equal(bed.transactions.length, 2);
  });
});
