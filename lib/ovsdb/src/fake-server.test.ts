import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type ConnectionState, openOvsdb, type OvsdbClient, OvsdbProtocolError } from './index.ts';
import { Framer } from './rpc/framer.ts';

const schema = {
  name: 'Small',
  version: '1.0.0',
  tables: {
    Thing: {
      columns: { name: { type: 'string' }, tags: { type: { key: 'string', min: 0, max: 'unlimited' } } },
      isRoot: true,
    },
  },
};
const uuid = '550e8400-e29b-41d4-a716-446655440000';

type Reply = { readonly result: unknown; readonly followedBy?: object } | { readonly error: unknown };
type Methods = Readonly<Record<string, (params: readonly unknown[], socket: net.Socket) => Reply>>;

interface Manners {
  /** Said to each new connection. */
  readonly greeting?: string;
  /** Called with each answer to the server's own requests. */
  onAnswer?(answer: unknown): void;
}

/** A server with just these methods; anything else is unknown to it. `followedBy` goes out in one chunk with the reply. */
async function serve(t: TestContext, methods: Methods, manners: Manners = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'ovsdb-'));
  const path = join(dir, 's');
  const sockets = new Set<net.Socket>();
  const answer = (socket: net.Socket, raw: unknown): void => {
    const { method, params, id } = raw as { method?: string; params: readonly unknown[]; id: unknown };
    if (method === undefined) {
      manners.onAnswer?.(raw);
      return;
    }
    const { followedBy, ...reply } = {
      followedBy: undefined,
      ...(methods[method]?.(params, socket) ?? { error: 'unknown method' }),
    };
    socket.write(
      JSON.stringify({ result: null, error: null, ...reply, id }) +
        (followedBy === undefined ? '' : JSON.stringify(followedBy)),
    );
  };
  const server = net.createServer((socket) => {
    const framer = new Framer();
    sockets.add(socket);
    socket.write(manners.greeting ?? '');
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      for (const raw of framer.push(chunk)) answer(socket, raw);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(dir, { recursive: true });
  });
  return `unix:${path}`;
}

const old: Methods = {
  get_schema: () => ({ result: schema }),
  monitor: ([database]) =>
    database === '_Server'
      ? { error: { error: 'unknown database' } }
      : { result: { Thing: { [uuid]: { new: { name: 'a', tags: ['set', ['y', 'x']] } } } } },
};

async function open(t: TestContext, remote: string, states: ConnectionState[] = []): Promise<OvsdbClient> {
  const client = await openOvsdb({
    remotes: [remote],
    database: 'Small',
    monitor: { Thing: undefined },
    onState: (state) => states.push(state),
  });
  t.after(() => client.close());
  return client;
}

function notified(client: OvsdbClient): Promise<void> {
  return new Promise((resolve) => {
    const stop = client.subscribe(() => {
      stop();
      resolve();
    });
  });
}

function things(client: OvsdbClient): readonly unknown[] {
  return [...client.cache.table('Thing').rows.values()];
}

test('a server that supports only `monitor`', async (t) => {
  let socket: net.Socket | undefined;
  const monitor: Methods[string] = (params, from) => {
    socket = from;
    return old['monitor']?.(params, from) ?? { error: 'none' };
  };
  const client = await open(t, await serve(t, { ...old, monitor }));
  assert.deepEqual(things(client), [{ _uuid: uuid, name: 'a', tags: ['x', 'y'] }]);

  const changed = notified(client);
  const update = { Thing: { [uuid]: { old: { tags: ['set', ['y', 'x']] }, new: { name: 'a', tags: 'z' } } } };
  socket?.write(JSON.stringify({ method: 'update', params: ['mirror', update], id: null }));
  await changed;
  assert.deepEqual(things(client), [{ _uuid: uuid, name: 'a', tags: ['z'] }]);

  const gone = notified(client);
  socket?.write(
    JSON.stringify({
      method: 'update',
      params: ['mirror', { Thing: { [uuid]: { old: { name: 'a', tags: 'z' } } } }],
      id: null,
    }),
  );
  await gone;
  assert.deepEqual(things(client), []);
});

test('a server that supports `monitor_cond` but not `monitor_cond_since`, with an update in the same chunk as the dump', async (t) => {
  const modify = { Thing: { [uuid]: { modify: { tags: ['set', ['x', 'w']] } } } };
  const monitorCond = (): Reply => ({
    result: { Thing: { [uuid]: { initial: { name: 'a', tags: 'x' } } } },
    followedBy: { method: 'update2', params: ['mirror', modify], id: null },
  });
  const client = await open(t, await serve(t, { ...old, monitor_cond: monitorCond }));
  assert.deepEqual(things(client), [{ _uuid: uuid, name: 'a', tags: ['w'] }]);
});

test('probes of the server are answered, and unknown requests get an error', async (t) => {
  const answers: unknown[] = [];
  const greeting = '{"method":"echo","params":["p"],"id":"echo"}{"method":"dance","params":[],"id":9}';
  await open(t, await serve(t, old, { greeting, onAnswer: (answer) => answers.push(answer) }));
  assert.deepEqual(answers, [
    { result: ['p'], error: null, id: 'echo' },
    { result: null, error: 'unknown method', id: 9 },
  ]);
});

test('after a malformed message the client reconnects and reads a whole dump', async (t) => {
  const asked: unknown[] = [];
  let socket: net.Socket | undefined;
  const since: Methods[string] = (params, from) => {
    asked.push(params[3]);
    socket = from;
    return { result: [false, uuid, { Thing: { [uuid]: { initial: { name: 'a' } } } }] };
  };
  const reasons: (Error | undefined)[] = [];
  const client = await open(t, await serve(t, { ...old, monitor_cond_since: since }));
  const synced = new Promise<void>((resolve) => {
    client.onState((state, reason) => {
      if (reason !== undefined) reasons.push(reason);
      if (state === 'synced') resolve();
    });
  });
  const unknownRow = { Thing: { '00000000-0000-4000-8000-000000000000': { modify: { name: 'b' } } } };
  socket?.write(JSON.stringify({ method: 'update3', params: ['mirror', uuid, unknownRow], id: null }));
  await synced;
  assert.ok(reasons[0] instanceof OvsdbProtocolError);
  assert.deepEqual(asked, ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000']);
  assert.deepEqual(things(client), [{ _uuid: uuid, name: 'a', tags: [] }]);
});
