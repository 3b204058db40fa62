import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import {
  type Change,
  openOvsdb,
  type OvsdbClient,
  OvsdbConnectionLost,
  OvsdbTimeout,
  TransactionRejected,
} from './index.ts';
import { schemaFile, startOvsdbServer, type TestServer } from './testing.ts';

let server: TestServer;
let client: OvsdbClient;

before(async () => {
  server = await startOvsdbServer({ schema: schemaFile('ovn-nb'), remotes: ['ptcp:0:127.0.0.1'] });
  client = await openNorthbound();
});

after(async () => {
  await client.close();
  await server.stop();
});

function openNorthbound(options: { signal?: AbortSignal } = {}): Promise<OvsdbClient> {
  return openOvsdb({
    remotes: [server.remote],
    database: 'OVN_Northbound',
    monitor: {
      Logical_Switch: undefined,
      Logical_Switch_Port: undefined,
      Address_Set: ['name', 'addresses', 'no_such_column'],
      No_Such_Table: undefined,
    },
    indexes: { Logical_Switch: [['name'], ['external_ids:isthmus-owner']], No_Such_Table: [['name']] },
    ...options,
  });
}

test('named uuids join rows of one transaction, and the cache holds its effects when it resolves', async () => {
  const [switchResult, portResult] = await client.transact([
    {
      op: 'insert',
      table: 'Logical_Switch',
      row: { name: 'sw', ports: [{ named: 'port' }], external_ids: { 'isthmus-owner': 'a/b' } },
    },
    {
      op: 'insert',
      table: 'Logical_Switch_Port',
      uuidName: 'port',
      row: { name: 'lsp', addresses: ['b', 'a'], tag: 7 },
    },
  ]);
  const [row] = client.cache.table('Logical_Switch').byIndex(['external_ids:isthmus-owner'], ['a/b']);
  assert.equal(row?._uuid, switchResult?.uuid);
  assert.deepEqual(row?.['ports'], [portResult?.uuid]);
  const port = client.cache.table('Logical_Switch_Port').rows.get(portResult?.uuid ?? '');
  assert.deepEqual(port?.['addresses'], ['a', 'b']);
  assert.equal(port['tag'], 7);
  assert.equal(port['enabled'], null);
});

test('every write of a burst is in the cache when its own transact resolves', async () => {
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const [inserted] = await client.transact([
        { op: 'insert', table: 'Address_Set', row: { name: `burst${index}` } },
      ]);
      assert.ok(client.cache.table('Address_Set').rows.has(inserted?.uuid ?? ''));
    }),
  );
  assert.deepEqual(await client.transact([{ op: 'delete', table: 'Address_Set', where: [] }]), [{ count: 100 }]);
  assert.equal(client.cache.table('Address_Set').rows.size, 0);
});

test('columns and tables that the schema of the server lacks are not monitored', () => {
  assert.equal(client.schema.tables['No_Such_Table'], undefined);
  assert.equal(client.cache.table('No_Such_Table').rows.size, 0);
  assert.deepEqual(client.cache.table('No_Such_Table').byIndex(['name'], ['a']), []);
});

test('select returns rows as the cache has them; update, mutate, wait and comment', async () => {
  await client.transact([{ op: 'insert', table: 'Address_Set', row: { name: 'as', addresses: ['2', '1'] } }]);
  const results = await client.transact([
    { op: 'comment', comment: 'a test' },
    {
      op: 'wait',
      table: 'Address_Set',
      where: [['name', '==', 'as']],
      columns: ['addresses'],
      until: '==',
      rows: [{ addresses: ['1', '2'] }],
      timeoutMs: 0,
    },
    {
      op: 'mutate',
      table: 'Address_Set',
      where: [['name', '==', 'as']],
      mutations: [
        ['addresses', 'insert', ['0']],
        ['addresses', 'delete', ['2']],
      ],
    },
    { op: 'update', table: 'Address_Set', where: [['name', '==', 'as']], row: { external_ids: { k: 'v' } } },
    { op: 'select', table: 'Address_Set', where: [['name', '==', 'as']], columns: ['name', 'addresses'] },
  ]);
  const [cached] = [...client.cache.table('Address_Set').rows.values()];
  assert.deepEqual(results, [{}, {}, { count: 1 }, { count: 1 }, { rows: [{ ...cached }] }]);
  assert.deepEqual(cached?.['addresses'], ['0', '1']);
  await client.transact([
    {
      op: 'mutate',
      table: 'Address_Set',
      where: [['external_ids', 'includes', { k: 'v' }]],
      mutations: [['external_ids', 'delete', ['k']]],
    },
  ]);
});

test('a string for which the server would close the connection is refused by the client; other strings are written', async () => {
  const states: string[] = [];
  const stop = client.onState((state) => states.push(state));
  const insert = (name: string) => client.transact([{ op: 'insert', table: 'Address_Set', row: { name } }]);
  for (const name of ['a\0b', '\\\0', 'a\ud800', '\udc00b']) {
    await assert.rejects(insert(name), (error: unknown) => {
      assert.ok(error instanceof TransactionRejected, String(error));
      assert.equal(error.retry, 'never');
      return true;
    });
  }
  const harmless = ['\\u0000', '\\\\ud800', '😀', '\u0001'];
  for (const name of harmless) await insert(name);
  const names = [...client.cache.table('Address_Set').rows.values()].map((row) => row['name']);
  assert.ok(harmless.every((name) => names.includes(name)));
  await client.transact([{ op: 'delete', table: 'Address_Set', where: [] }]);
  const comment = {
    op: 'comment',
    comment: '',
    toJSON: () => {
      throw new RangeError('Invalid string length');
    },
  } as const;
  await assert.rejects(client.transact([comment]), TransactionRejected, 'one that is too long');
  assert.deepEqual(states, [], 'the connection stayed');
  stop();
});

test('refused transactions report the operation, the table and the reason', async () => {
  const rejected = (operations: Parameters<OvsdbClient['transact']>[0]): Promise<TransactionRejected> =>
    client.transact(operations).then(
      () => assert.fail('was accepted'),
      (error: unknown) => {
        assert.ok(error instanceof TransactionRejected, String(error));
        return error;
      },
    );
  const comment = { op: 'comment', comment: 'first' } as const;

  const constraint = await rejected([comment, { op: 'insert', table: 'Logical_Switch_Port', row: { tag: 9999 } }]);
  assert.deepEqual(
    [constraint.operation, constraint.op, constraint.table, constraint.error],
    [1, 'insert', 'Logical_Switch_Port', 'constraint violation'],
  );
  assert.match(constraint.details ?? '', /9999 is not in the valid range/);

  const referential = await rejected([
    { op: 'insert', table: 'Logical_Switch', row: { ports: ['11111111-0000-4000-8000-000000000000'] } },
  ]);
  assert.deepEqual([referential.operation, referential.error], [undefined, 'referential integrity violation']);

  const duplicate = await rejected(['x', 'x'].map((name) => ({ op: 'insert', table: 'Address_Set', row: { name } })));
  assert.deepEqual([duplicate.operation, duplicate.error], [undefined, 'constraint violation']);

  const unknownTable = await rejected([comment, comment, { op: 'insert', table: 'Nope', row: { a: 'b' } }]);
  assert.deepEqual([unknownTable.operation, unknownTable.table, unknownTable.error], [2, 'Nope', 'syntax error']);

  const unknownColumn = await rejected([{ op: 'insert', table: 'Address_Set', row: { nope: 'b' } }]);
  assert.equal(unknownColumn.operation, 0);
  assert.equal(unknownColumn.retry, 'never');

  const waited = await rejected([
    {
      op: 'wait',
      table: 'Address_Set',
      where: [],
      columns: ['name'],
      until: '==',
      rows: [{ name: 'zz' }],
      timeoutMs: 0,
    },
  ]);
  assert.deepEqual([waited.error, waited.retry], ['timed out', 'backoff']);
});

test('a deadline and a signal end the wait for a reply, and cancel the request on the server', async () => {
  const waiting = [
    { op: 'wait', table: 'Address_Set', where: [], columns: ['name'], until: '==', rows: [{ name: 'never' }] },
    { op: 'insert', table: 'Address_Set', row: { name: 'late' } },
  ] as const;
  await assert.rejects(client.transact(waiting, { timeoutMs: 30 }), OvsdbTimeout);
  const abort = new AbortController();
  const aborted = client.transact(waiting, { signal: abort.signal });
  abort.abort(new Error('enough'));
  await assert.rejects(aborted, /enough/);
  // Were the transactions still there, this would let them run.
  await client.transact([
    { op: 'delete', table: 'Address_Set', where: [] },
    { op: 'insert', table: 'Address_Set', row: { name: 'never' } },
  ]);
  await client.transact([{ op: 'comment', comment: 'after' }]);
  assert.deepEqual(
    [...client.cache.table('Address_Set').rows.values()].map((row) => row['name']),
    ['never'],
  );
});

test('a write of one client reaches the other as one list of changes', async () => {
  const other = await openNorthbound();
  const received = new Promise<readonly Change[]>((resolve) => {
    other.subscribe(resolve);
  });
  await client.transact([
    { op: 'insert', table: 'Logical_Switch', row: { name: 'shared' } },
    { op: 'delete', table: 'Logical_Switch', where: [['name', '==', 'sw']] },
  ]);
  const changes = await received;
  assert.deepEqual(
    new Set(
      changes.map(({ table, before, after }) => `${table} ${String(before?.['name'])} → ${String(after?.['name'])}`),
    ),
    new Set([
      'Logical_Switch sw → undefined',
      'Logical_Switch undefined → shared',
      'Logical_Switch_Port lsp → undefined',
    ]),
  );
  assert.deepEqual(other.cache.table('Logical_Switch').byIndex(['name'], ['sw']), []);
  await other.close();
});

test('a client connects by TCP', async () => {
  const address = /0:127\.0\.0\.1.*?listening on port (\d+)/.exec(await server.log());
  const remote = `tcp:127.0.0.1:${address?.[1]}`;
  const other = await openOvsdb({
    remotes: [remote],
    database: 'OVN_Northbound',
    monitor: { Logical_Switch: undefined },
  });
  assert.deepEqual(other.cache.table('Logical_Switch').rows, client.cache.table('Logical_Switch').rows);
  await other.close();
});

test('close and abort end everything, and later calls reject with that reason', async () => {
  const abort = new AbortController();
  const other = await openNorthbound({ signal: abort.signal });
  abort.abort();
  await assert.rejects(other.transact([]), OvsdbConnectionLost);
  await assert.rejects(other.synced(), OvsdbConnectionLost);
  await other.close();
  assert.equal(other.state, 'disconnected');
});

test('a closed client does not keep the process running', () => {
  const program = `
    const { openOvsdb } = await import(${JSON.stringify(new URL('index.ts', import.meta.url).href)});
    const client = await openOvsdb({ remotes: [${JSON.stringify(server.remote)}], database: 'OVN_Northbound', monitor: {} });
    await client.transact([{ op: 'comment', comment: 'a' }]);
    await client.close();
    console.log('closed');`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.deepEqual([status, stdout], [0, 'closed\n']);
});

test('options that cannot work are refused at once', async () => {
  const open = (remotes: readonly string[]): Promise<OvsdbClient> =>
    openOvsdb({ remotes, database: 'OVN_Northbound', monitor: {} });
  await assert.rejects(open([]), { name: 'TypeError', message: /remotes is empty/ });
  await assert.rejects(open(['ssl:127.0.0.1:1']), { name: 'TypeError', message: /needs tls/ });
  await assert.rejects(open(['nonsense']), { name: 'TypeError', message: /"nonsense" is not one of/ });
});

test('conditions limit the rows of the mirror, also as rows change', async () => {
  const narrow = await openOvsdb({
    remotes: [server.remote],
    database: 'OVN_Northbound',
    monitor: { Address_Set: ['name'], Logical_Switch: ['name'] },
    where: {
      Address_Set: [
        ['external_ids', 'includes', { stage: 'a' }],
        ['external_ids', 'includes', { stage: 'b' }],
      ],
      Logical_Switch: [['no_such_column', '==', 'x']],
    },
  });
  // The reply to any request comes after the updates before it.
  const names = async (): Promise<readonly unknown[]> => {
    await narrow.transact([{ op: 'select', table: 'Address_Set', where: [], columns: ['name'] }]);
    return [...narrow.cache.table('Address_Set').rows.values()].map(({ name }) => name as string).sort();
  };
  const put = (name: string, stage: string): Promise<unknown> =>
    client.transact([
      { op: 'insert', table: 'Address_Set', row: { name, external_ids: { stage } } },
      { op: 'insert', table: 'Logical_Switch', row: { name } },
    ]);
  for (const stage of ['a', 'b', 'c']) await put(`of-${stage}`, stage);
  assert.deepEqual(await names(), ['of-a', 'of-b']);
  await client.transact([
    { op: 'update', table: 'Address_Set', where: [['name', '==', 'of-a']], row: { external_ids: { stage: 'c' } } },
  ]);
  assert.deepEqual(await names(), ['of-b']);
  assert.equal(narrow.cache.table('Logical_Switch').rows.size, 0);
  await narrow.close();
});
