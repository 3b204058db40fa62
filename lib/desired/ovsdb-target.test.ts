import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient, type Row } from 'ovsdb-client';
import { schemaFile, startOvsdbServer, type TestServer } from '../ovsdb/src/testing.ts';
import { openOvsdbTarget, type OvsdbTarget } from './ovsdb-target.ts';
import type { Problem } from './problem.ts';
import { ref, type Desired, type DesiredRow, type OwnEntries } from './row.ts';

const logger = { info: () => undefined, warn: () => undefined };

describe('the OVSDB target on a real northbound database', () => {
  let server: TestServer;
  let client: OvsdbClient;
  let target: OvsdbTarget;
  let transactions: number;
  let problems: Map<string, Problem | undefined>;

  const open = (room = 'room', ownEntries?: OwnEntries): OvsdbTarget => {
    const own = ownEntries === undefined ? {} : { ownEntries };
    const opened = openOvsdbTarget({ client, room, logger, ...own, onTransaction: () => (transactions += 1) });
    opened.onResult((owner, problem) => problems.set(owner, problem));
    return opened;
  };
  const rows = (table: string): Row[] => [...client.cache.table(table).rows.values()];
  const named = (table: string, name: string): Row | undefined => rows(table).find((row) => row['name'] === name);
  const portNames = (switchName: string): string[] =>
    ((named('Logical_Switch', switchName)?.['ports'] ?? []) as string[])
      .map((uuid) => String(client.cache.table('Logical_Switch_Port').rows.get(uuid)?.['name']))
      .sort();

  before(async () => {
    server = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
    client = await openOvsdb({
      remotes: [server.remote],
      database: 'OVN_Northbound',
      monitor: Object.fromEntries(
        [
          'Logical_Switch',
          'Logical_Switch_Port',
          'Port_Group',
          'Address_Set',
          'HA_Chassis_Group',
          'NB_Global',
          'Logical_Router',
          'Logical_Router_Static_Route',
        ].map((table) => [table, undefined]),
      ),
    });
  });
  after(async () => {
    target.close();
    await client.close();
    await server.stop();
  });
  beforeEach(async () => {
    (target as OvsdbTarget | undefined)?.close();
    await client.transact(
      ['Logical_Switch', 'Port_Group', 'Address_Set', 'HA_Chassis_Group', 'NB_Global', 'Logical_Router'].map(
        (table) => ({ op: 'delete', table, where: [] }) as const,
      ),
    );
    await client.transact([{ op: 'insert', table: 'NB_Global', row: {} }]);
    transactions = 0;
    problems = new Map();
    target = open();
  });

  const aSwitch = (key: string, more: Partial<DesiredRow> = {}): Desired => ({
    rows: [{ table: 'Logical_Switch', key, columns: {}, ...more }],
  });
  const aPort = (key: string, on: string, address = 'dynamic'): DesiredRow => ({
    table: 'Logical_Switch_Port',
    key,
    columns: { addresses: [address] },
    parent: { table: 'Logical_Switch', key: on, column: 'ports' },
  });

  it('reports when a revision is in the database, also under continuous writes', async () => {
    let last = 0;
    const setNext = (): void => {
      last += 1;
      if (last < 50) target.set(`switch/s${last}`, aSwitch(`s${last}`));
    };
    target.close();
    target = openOvsdbTarget({ client, room: 'busy', logger, onTransaction: setNext });
    setNext();
    const { revision } = target;
    await target.untilApplied(revision);
    assert.notEqual(named('Logical_Switch', 's1'), undefined);
    assert.equal(target.isApplied, false);
    await target.untilApplied();
    assert.ok(target.revision > revision);
    await target.untilApplied(revision);
  });

  it('waits for its reader, marks each transaction, and writes the plans set meanwhile together', async () => {
    const mark = {
      op: 'mutate',
      table: 'NB_Global',
      where: [],
      mutations: [['nb_cfg', '+=', 1]],
    } as const;
    const busy = Promise.withResolvers<void>();
    target.close();
    target = openOvsdbTarget({
      client,
      room: 'paced',
      logger,
      reader: { mark, untilTakenUp: () => busy.promise },
      onTransaction: () => (transactions += 1),
    });
    target.seal();
    const before = transactions;
    for (const name of ['p1', 'p2', 'p3']) {
      target.set(`switch/${name}`, aSwitch(name));
      await sleep(10);
    }
    assert.equal(transactions, before);
    busy.resolve();
    await target.untilApplied();
    assert.equal(transactions, before + 1);
    assert.equal(rows('NB_Global')[0]?.['nb_cfg'], 1);
    target.set('switch/p1', aSwitch('p1'));
    await target.untilApplied();
    assert.equal(rows('NB_Global')[0]?.['nb_cfg'], 1, 'nothing is marked where nothing is written');
  });

  it('writes the first plans of all owners in one transaction if asked to, and later ones by its size', async () => {
    target.close();
    target = openOvsdbTarget({
      client,
      room: 'whole',
      logger,
      batchSize: 2,
      isFirstWhole: () => true,
      onTransaction: () => (transactions += 1),
    });
    const write = async (names: readonly string[]): Promise<number> => {
      const before = transactions;
      for (const name of names) target.set(`switch/${name}`, aSwitch(name));
      await target.untilApplied();
      return transactions - before;
    };
    assert.equal(await write(['w1', 'w2', 'w3', 'w4', 'w5']), 1);
    assert.equal(await write(['w6', 'w7', 'w8', 'w9']), 2);
  });

  it('writes a burst in one transaction, and nothing the second time', async () => {
    const plan = (): void => {
      for (let i = 0; i < 50; i++) target.set(`pod/p${i}`, { rows: [aPort(`p${i}`, 'ls')] });
      target.set('subnet/ls', aSwitch('ls'));
      target.seal();
    };
    plan();
    await target.untilApplied();
    assert.equal(transactions, 1);
    assert.equal(portNames('ls').length, 50);
    plan();
    await target.untilApplied();
    target.close();
    target = open();
    plan();
    await target.untilApplied();
    assert.equal(transactions, 1, 'neither the same plan nor a restart writes');
  });

  it('prunes owners that did not plan, only once sealed, and never rows of others', async () => {
    await client.transact([
      { op: 'insert', table: 'Logical_Switch', row: { name: 'foreign' } },
      {
        op: 'insert',
        table: 'Logical_Switch',
        row: { name: 'neighbour', external_ids: { 'isthmus-owner': 'other/x/y' } },
      },
    ]);
    target.set('subnet/a', { rows: [...aSwitch('a').rows, aPort('a1', 'a')] });
    target.set('subnet/b', aSwitch('b'));
    target.set('pod/onb', { rows: [aPort('onb', 'b')] });
    await target.untilApplied();
    target.close();
    target = open();
    target.set('subnet/b', aSwitch('b'));
    await target.untilApplied();
    assert.ok(named('Logical_Switch', 'a'), 'kept before the seal');
    target.seal();
    await target.untilApplied();
    assert.deepEqual(
      rows('Logical_Switch')
        .map((row) => String(row['name']))
        .sort(),
      ['b', 'foreign', 'neighbour'],
    );
    assert.deepEqual(rows('Logical_Switch_Port'), [], 'ports of pruned owners went');
  });

  it('adopts a row of that name without an owner', async () => {
    await client.transact([
      { op: 'insert', table: 'Logical_Switch', row: { name: 'ls', other_config: { keep: 'me' } } },
    ]);
    const uuid = named('Logical_Switch', 'ls')?._uuid;
    target.set('subnet/ls', aSwitch('ls'));
    await target.untilApplied();
    assert.equal(named('Logical_Switch', 'ls')?._uuid, uuid);
    assert.deepEqual(named('Logical_Switch', 'ls')?.['external_ids'], { 'isthmus-owner': 'room/subnet/ls' });
    assert.deepEqual(named('Logical_Switch', 'ls')?.['other_config'], { keep: 'me' });
  });

  it('leaves a row of another room unchanged and reports its owner', async () => {
    await client.transact([
      { op: 'insert', table: 'Logical_Switch', row: { name: 'ls', external_ids: { 'isthmus-owner': 'other/a/b' } } },
    ]);
    target.set('subnet/ls', aSwitch('ls'));
    await target.untilApplied();
    assert.equal(problems.get('subnet/ls')?.code, 'RowOfAnother');
    assert.equal(transactions, 0);
  });

  it('moves a port between switches and deletes it with its owner', async () => {
    target.set('subnet/a', aSwitch('a'));
    target.set('subnet/b', aSwitch('b'));
    target.set('pod/p', { rows: [aPort('p', 'a')] });
    await target.untilApplied();
    const uuid = named('Logical_Switch_Port', 'p')?._uuid;
    target.set('pod/p', { rows: [aPort('p', 'b')] });
    await target.untilApplied();
    assert.deepEqual([portNames('a'), portNames('b')], [[], ['p']]);
    assert.equal(named('Logical_Switch_Port', 'p')?._uuid, uuid);
    target.drop('pod/p');
    await target.untilApplied();
    assert.equal(named('Logical_Switch_Port', 'p'), undefined);
  });

  it('isolates the owner whose row the server refuses', async () => {
    for (let i = 0; i < 9; i++) target.set(`subnet/s${i}`, aSwitch(`s${i}`));
    target.set('lb/bad', {
      rows: [
        {
          table: 'Logical_Router_Static_Route',
          key: 'r',
          columns: { ip_prefix: '0.0.0.0/0', nexthop: '1.1.1.1', policy: 'sideways' },
          parent: { table: 'Logical_Router', key: 'lr', column: 'static_routes' },
        },
        { table: 'Logical_Router', key: 'lr', columns: {} },
      ],
    });
    await target.untilApplied();
    assert.equal(rows('Logical_Switch').length, 9);
    assert.equal(problems.get('lb/bad')?.code, 'DatabaseRefused');
    assert.match(problems.get('lb/bad')?.message ?? '', /constraint violation/);
    assert.equal(problems.get('subnet/s0'), undefined);
  });

  it('isolates the owner whose row no server could read', async () => {
    for (let i = 0; i < 9; i++) target.set(`subnet/s${i}`, aSwitch(`s${i}`));
    target.set('subnet/bad', aSwitch('bad', { columns: { external_ids: { key: 'a\0b' } } }));
    await target.untilApplied();
    assert.equal(rows('Logical_Switch').length, 9);
    assert.equal(problems.get('subnet/bad')?.code, 'DatabaseRefused');
    assert.match(problems.get('subnet/bad')?.message ?? '', /NUL/);
    assert.equal(problems.get('subnet/s0'), undefined);
  });

  it('waits for a row that it refers to, and continues when the row appears', async () => {
    target.set('pod/p', {
      rows: [aPort('p', 'later')],
      contributions: [{ table: 'Port_Group', key: 'pg', column: 'ports', values: [ref('Logical_Switch_Port', 'p')] }],
    });
    await target.untilApplied();
    assert.equal(problems.get('pod/p')?.code, 'WaitingForRow');
    await client.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'later' } }]);
    await target.untilApplied();
    assert.deepEqual(portNames('later'), ['p']);
    assert.equal(problems.get('pod/p'), undefined);
    target.set('group/pg', { rows: [{ table: 'Port_Group', key: 'pg', columns: {}, collects: ['ports'] }] });
    await target.untilApplied();
    assert.deepEqual(named('Port_Group', 'pg')?.['ports'], [named('Logical_Switch_Port', 'p')?._uuid]);
  });

  it('adds and takes back contributions by mutation; two owners of one member count as one', async () => {
    const gives = (...values: string[]): Desired => ({
      rows: [],
      contributions: [{ table: 'Address_Set', key: 'as', column: 'addresses', values }],
    });
    target.set('set/as', { rows: [{ table: 'Address_Set', key: 'as', columns: {}, collects: ['addresses'] }] });
    target.set('pod/a', gives('10.0.0.1', '10.0.0.9'));
    target.set('pod/b', gives('10.0.0.2', '10.0.0.9'));
    await target.untilApplied();
    assert.deepEqual(named('Address_Set', 'as')?.['addresses'], ['10.0.0.1', '10.0.0.2', '10.0.0.9']);
    target.drop('pod/a');
    await target.untilApplied();
    assert.deepEqual(named('Address_Set', 'as')?.['addresses'], ['10.0.0.2', '10.0.0.9']);
    target.close();
    target = open();
    target.set('set/as', { rows: [{ table: 'Address_Set', key: 'as', columns: {}, collects: ['addresses'] }] });
    target.set('pod/c', gives('10.0.0.3'));
    target.seal();
    await target.untilApplied();
    assert.deepEqual(named('Address_Set', 'as')?.['addresses'], ['10.0.0.3'], 'stale members go at the seal');
  });

  it('writes entries and scalars of rows that are not ours, and takes them back', async () => {
    target.set('global/ic', {
      rows: [],
      contributions: [
        { table: 'NB_Global', key: '.', column: 'options', entries: { a: '1' } },
        { table: 'NB_Global', key: '.', column: 'name', value: 'east' },
      ],
    });
    await target.untilApplied();
    assert.deepEqual([rows('NB_Global')[0]?.['options'], rows('NB_Global')[0]?.['name']], [{ a: '1' }, 'east']);
    target.set('global/ic', {
      rows: [],
      contributions: [
        { table: 'NB_Global', key: '.', column: 'options', entries: { a: '2', gone: null } },
        { table: 'NB_Global', key: '.', column: 'name', value: 'west' },
      ],
    });
    await target.untilApplied();
    assert.deepEqual([rows('NB_Global')[0]?.['options'], rows('NB_Global')[0]?.['name']], [{ a: '2' }, 'west']);
    target.drop('global/ic');
    await target.untilApplied();
    assert.deepEqual([rows('NB_Global')[0]?.['options'], rows('NB_Global')[0]?.['name']], [{}, '']);
  });

  it('keeps entries of others in shared maps and takes back its own', async () => {
    const wants = (ids: Record<string, string>): Desired => ({
      rows: [{ table: 'Logical_Switch', key: 'ls', columns: { other_config: ids }, shared: ['other_config'] }],
    });
    target.set('subnet/ls', wants({ mine: '1', also: '1' }));
    await target.untilApplied();
    await client.transact([
      {
        op: 'mutate',
        table: 'Logical_Switch',
        where: [['name', '==', 'ls']],
        mutations: [['other_config', 'insert', { theirs: 'x' }]],
      },
    ]);
    target.set('subnet/ls', wants({ mine: '2' }));
    await target.untilApplied();
    assert.deepEqual(named('Logical_Switch', 'ls')?.['other_config'], { mine: '2', theirs: 'x' });
  });

  it('keeps entries that no plan here writes, and takes out its own also after a restart', async () => {
    const wants = (ids: Record<string, string>): Desired => aSwitch('ls', { columns: { external_ids: ids } });
    const ids = (): Record<string, unknown> => {
      const row = named('Logical_Switch', 'ls') ?? { external_ids: {} };
      const { 'isthmus-owner': _, ...rest } = row['external_ids'] as Record<string, unknown>;
      return rest;
    };
    const ownEntries: OwnEntries = (_, column) =>
      column === 'external_ids' ? (entry) => entry.startsWith('my-') || entry === 'isthmus-owner' : undefined;
    const insert = async (entries: Record<string, string>): Promise<void> => {
      const mutations = [['external_ids', 'insert', entries]] as const;
      await client.transact([{ op: 'mutate', table: 'Logical_Switch', where: [['name', '==', 'ls']], mutations }]);
      await target.untilApplied();
    };
    // What it takes over is written as a whole.
    await client.transact([
      { op: 'insert', table: 'Logical_Switch', row: { name: 'ls', external_ids: { 'my-old': '1', former: '1' } } },
    ]);
    target.close();
    target = open('room', ownEntries);
    target.set('subnet/ls', wants({ 'my-a': '1', 'my-b': '1' }));
    await target.untilApplied();
    assert.deepEqual(ids(), { 'my-a': '1', 'my-b': '1' });
    await insert({ theirs: 'x', 'my-stray': '1' });
    assert.deepEqual(ids(), { 'my-a': '1', 'my-b': '1', theirs: 'x' });
    target.close();
    target = open('room', ownEntries);
    transactions = 0;
    target.set('subnet/ls', wants({ 'my-a': '2' }));
    await target.untilApplied();
    assert.deepEqual(ids(), { 'my-a': '2', theirs: 'x' });
    target.set('subnet/ls', wants({ 'my-a': '2' }));
    await target.untilApplied();
    assert.equal(transactions, 1, 'what others have there is nothing to write');
  });

  it('repairs rows that another client changed or deleted', async () => {
    target.set('subnet/ls', aSwitch('ls'));
    target.set('pod/p', { rows: [aPort('p', 'ls', '00:00:00:00:00:01 10.0.0.1')] });
    await target.untilApplied();
    await client.transact([
      { op: 'update', table: 'Logical_Switch_Port', where: [['name', '==', 'p']], row: { addresses: [] } },
    ]);
    await target.untilApplied();
    assert.deepEqual(named('Logical_Switch_Port', 'p')?.['addresses'], ['00:00:00:00:00:01 10.0.0.1']);
    await client.transact([{ op: 'delete', table: 'Logical_Switch', where: [['name', '==', 'ls']] }]);
    await target.untilApplied();
    assert.deepEqual(portNames('ls'), ['p']);
  });

  it('gives way to another client that reverts its rows forever, and reports it', async () => {
    target.set('subnet/ls', aSwitch('ls', { columns: { other_config: { by: 'us' } } }));
    await target.untilApplied();
    const fights = client.subscribe((changes) => {
      if (changes.some(({ after }) => (after?.['other_config'] as { by?: string } | undefined)?.by === 'us')) {
        void client.transact([
          { op: 'update', table: 'Logical_Switch', where: [], row: { other_config: { by: 'them' } } },
        ]);
      }
    });
    await client.transact([
      { op: 'update', table: 'Logical_Switch', where: [], row: { other_config: { by: 'them' } } },
    ]);
    while (problems.get('subnet/ls') === undefined) await client.transact([{ op: 'comment', comment: 'a round trip' }]);
    fights();
    assert.equal(problems.get('subnet/ls')?.code, 'ChangedByAnother');
    assert.ok(transactions < 20, `${transactions} transactions`);
  });

  it('gives a row to the next owner when the first releases it', async () => {
    target.set('subnet/first', aSwitch('ls', { columns: { other_config: { by: 'first' } } }));
    target.set('subnet/second', aSwitch('ls', { columns: { other_config: { by: 'second' } } }));
    await target.untilApplied();
    assert.equal(problems.get('subnet/second')?.code, 'RowWantedTwice');
    target.drop('subnet/first');
    await target.untilApplied();
    assert.deepEqual(named('Logical_Switch', 'ls')?.['other_config'], { by: 'second' });
    assert.equal(rows('Logical_Switch').length, 1);
  });

  it('deletes a row together with references to it, also those of an unknown owner', async () => {
    const port = aPort('p', 'ls');
    const group: DesiredRow = { table: 'HA_Chassis_Group', key: 'group', columns: {} };
    const held = { ...port, columns: { ...port.columns, ha_chassis_group: ref('HA_Chassis_Group', 'group') } };
    target.set('subnet/ls', aSwitch('ls'));
    target.set('gateway/g', { rows: [group, held] });
    await target.untilApplied();
    target.close();
    target = open();
    target.set('subnet/ls', aSwitch('ls'));
    target.seal();
    await target.untilApplied();
    assert.equal(problems.get('gateway/g'), undefined);
    assert.equal(rows('HA_Chassis_Group').length, 0);
    assert.deepEqual(portNames('ls'), []);
  });

  it('loses and repeats nothing when the server dies and returns', async () => {
    target.set('subnet/ls', aSwitch('ls'));
    await target.untilApplied();
    await server.kill('SIGKILL');
    for (let i = 0; i < 20; i++) target.set(`pod/p${i}`, { rows: [aPort(`p${i}`, 'ls')] });
    const applied = target.untilApplied();
    await server.restart();
    await applied;
    assert.equal(portNames('ls').length, 20);
    assert.equal(rows('Logical_Switch_Port').length, 20);
  });
});
