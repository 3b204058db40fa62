import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  type Change,
  type ConnectionState,
  openOvsdb,
  type OvsdbClient,
  OvsdbConnectionLost,
  type OvsdbOptions,
} from './index.ts';
import { startProxy, type TestProxy } from './testing-proxy.ts';
import { schemaFile, startOvsdbServer, type TestServer, type TestServerOptions } from './testing.ts';

const schema = schemaFile('ovn-nb');

async function start(
  t: TestContext,
  options: Partial<TestServerOptions> = {},
): Promise<{ server: TestServer; proxy: TestProxy }> {
  const server = await startOvsdbServer({ schema, ...options });
  t.after(() => server.stop());
  const proxy = await startProxy(server.remote);
  t.after(() => proxy.stop());
  return { server, proxy };
}

async function open(t: TestContext, remote: string, options: Partial<OvsdbOptions> = {}): Promise<OvsdbClient> {
  const client = await openOvsdb({
    remotes: [remote],
    database: 'OVN_Northbound',
    monitor: { Address_Set: undefined },
    ...options,
  });
  t.after(() => client.close());
  return client;
}

async function insert(client: OvsdbClient, ...names: readonly string[]): Promise<void> {
  await client.transact(names.map((name) => ({ op: 'insert', table: 'Address_Set', row: { name } })));
}

function state(client: OvsdbClient, wanted: ConnectionState): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const stop = client.onState((now, reason) => {
      if (now !== wanted) return;
      stop();
      resolve(reason);
    });
  });
}

function namesOf(client: OvsdbClient): readonly string[] {
  return [...client.cache.table('Address_Set').rows.values()].map((row) => String(row['name'])).toSorted();
}

/** Changes as `-gone`, `+come`, `~changed`. */
function recordChanges(client: OvsdbClient): string[] {
  const list: string[] = [];
  const text = ({ before, after }: Change): string =>
    before === undefined
      ? `+${String(after?.['name'])}`
      : after === undefined
        ? `-${String(before['name'])}`
        : `~${String(after['name'])}`;
  client.subscribe((changes) => list.push(...changes.map(text).toSorted()));
  return list;
}

/** Replies to monitor_cond_since, as the proxy saw them: `found` and the number of rows. */
function sinceReplies(proxy: TestProxy): readonly [found: unknown, rows: number][] {
  const asked = new Set(proxy.fromClient.filter(({ method }) => method === 'monitor_cond_since').map(({ id }) => id));
  return proxy.fromServer.flatMap(({ id, result }): [unknown, number][] => {
    if (!asked.has(id) || !Array.isArray(result) || result.length !== 3) return [];
    return [[result[0], Object.keys((result[2] as { Address_Set?: object }).Address_Set ?? {}).length]];
  });
}

test('subscribers get the difference when a killed server comes back with other rows', async (t) => {
  const { server, proxy } = await start(t);
  const client = await open(t, proxy.remote);
  const other = await open(t, server.remote);
  await insert(client, 'stays', 'goes', 'changes');
  const changes = recordChanges(client);

  proxy.refuse = true;
  const down = state(client, 'disconnected');
  proxy.cut();
  assert.ok((await down) instanceof OvsdbConnectionLost);
  await other.transact([
    { op: 'delete', table: 'Address_Set', where: [['name', '==', 'goes']] },
    { op: 'update', table: 'Address_Set', where: [['name', '==', 'changes']], row: { addresses: ['10.0.0.1'] } },
    { op: 'insert', table: 'Address_Set', row: { name: 'new' } },
  ]);
  await server.kill('SIGKILL');
  await server.restart();
  proxy.refuse = false;
  await client.synced();
  assert.deepEqual(changes, ['+new', '-goes', '~changes']);
  assert.deepEqual(namesOf(client), ['changes', 'new', 'stays']);
  assert.deepEqual(
    sinceReplies(proxy).map(([found]) => found),
    [false, false],
  );
});

test('a clustered server that knows the last transaction sends only later changes', async (t) => {
  const { server, proxy } = await start(t, { cluster: { address: 'unix:raft' } });
  const client = await open(t, proxy.remote);
  const other = await open(t, server.remote);
  // A server remembers no more of the past than it holds in the present, hence the ballast.
  await other.transact(
    Array.from({ length: 20 }, (_, index) => ({
      op: 'insert',
      table: 'Logical_Switch',
      row: { name: `ballast${index}` },
    })),
  );
  await insert(client, 'a', 'b', 'c');
  const changes = recordChanges(client);

  const down = state(client, 'disconnected');
  proxy.refuse = true;
  proxy.cut();
  await down;
  await insert(other, 'd');
  await other.transact([{ op: 'delete', table: 'Address_Set', where: [['name', '==', 'a']] }]);
  proxy.refuse = false;
  await client.synced();
  assert.deepEqual(sinceReplies(proxy), [
    [false, 0],
    [true, 2],
  ]);
  assert.deepEqual(changes, ['+d', '-a']);
  assert.deepEqual(namesOf(client), ['b', 'c', 'd']);
});

test('a transaction in flight is reported as lost when the connection ends, and is not sent again', async (t) => {
  const { server, proxy } = await start(t);
  const client = await open(t, proxy.remote);
  proxy.hold = true;
  const lost = insert(client, 'once');
  const other = await open(t, server.remote, { probeIntervalMs: 0 });
  while (!namesOf(other).includes('once')) await new Promise<void>((resolve) => other.subscribe(() => resolve()));
  proxy.cut();
  proxy.hold = false;
  await assert.rejects(lost, (error) => error instanceof OvsdbConnectionLost && error.sent);
  await client.synced();
  assert.deepEqual(namesOf(client), ['once']);
  assert.equal(proxy.fromClient.filter(({ method }) => method === 'transact').length, 1);
});

test('without a connection, a transaction is refused and not sent', async (t) => {
  const { proxy } = await start(t);
  const client = await open(t, proxy.remote);
  const down = state(client, 'disconnected');
  proxy.refuse = true;
  proxy.cut();
  await down;
  await assert.rejects(insert(client, 'a'), (error) => error instanceof OvsdbConnectionLost && !error.sent);
});

test('a stopped server is detected by the probe, and used again when it continues', async (t) => {
  const { server } = await start(t);
  const client = await open(t, server.remote, { probeIntervalMs: 500 });
  const down = state(client, 'disconnected');
  await server.kill('SIGSTOP');
  assert.match((await down)?.message ?? '', /no answer within 500 ms/);
  await server.kill('SIGCONT');
  await client.synced();
  await insert(client, 'a');
});

test('a quiet server that answers probes is kept', async (t) => {
  const { proxy } = await start(t);
  const states: ConnectionState[] = [];
  await open(t, proxy.remote, { probeIntervalMs: 300, onState: (now) => states.push(now) });
  const echoes = (): number => proxy.fromClient.filter(({ method }) => method === 'echo').length;
  while (echoes() < 3) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(states, ['connecting', 'synced']);
});

test('the first of several remotes that answers is used; a missing database is waited for', async (t) => {
  const { server } = await start(t);
  const client = await openOvsdb({
    remotes: ['unix:/nowhere/db.sock', 'tcp:127.0.0.1:1', server.remote],
    database: 'OVN_Northbound',
    monitor: {},
    probeIntervalMs: 0,
  });
  t.after(() => client.close());
  assert.equal(client.state, 'synced');

  const abort = new AbortController();
  const reasons: string[] = [];
  const absent = openOvsdb({
    remotes: [server.remote],
    database: 'Nope',
    monitor: {},
    signal: abort.signal,
    onState: (_, reason) => {
      if (reason === undefined) return;
      reasons.push(reason.message);
      abort.abort();
    },
  });
  await assert.rejects(absent, OvsdbConnectionLost);
  assert.match(reasons[0] ?? '', /no use for Nope: it does not have it/);
});

test('remotes from a function are requested again; an unusable list is reported and not followed', async (t) => {
  const { server, proxy } = await start(t);
  let remotes: readonly string[] = [proxy.remote];
  const reasons: string[] = [];
  const client = await openOvsdb({
    remotes: () => remotes,
    database: 'OVN_Northbound',
    monitor: { Address_Set: undefined },
    onState: (_, reason) => reason !== undefined && reasons.push(reason.message),
  });
  t.after(() => client.close());
  remotes = ['nonsense'];
  proxy.cut();
  await state(client, 'synced');
  assert.ok(reasons.some((reason) => reason.includes('nonsense')));
  remotes = [server.remote];
  proxy.refuse = true;
  proxy.cut();
  await state(client, 'synced');
  await insert(client, 'past the proxy');
});
