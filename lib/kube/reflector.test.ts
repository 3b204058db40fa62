import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, test } from 'node:test';
import type { ServerResponse } from 'node:http';
import { openKube } from './client.ts';
import { refuse, startFaultServer } from './fault-server.ts';
import type { FaultServer } from './fault-server.ts';
import { reflect } from './reflector.ts';
import { nodes } from './resources.ts';
import type { KubeClient, RawObject, Reflector, ReflectorChange, ReflectorTiming } from './types.ts';

interface Scene {
  readonly server: FaultServer;
  readonly client: KubeClient;
  readonly reflector: Reflector<string>;
  readonly changes: ReflectorChange<string>[];
  /** Resolves once the mirror holds exactly these `name=spec` pairs. */
  holds(...pairs: string[]): Promise<void>;
}

let scene: Scene;
const timing: Partial<ReflectorTiming> = { baseMs: 20, maxMs: 100, random: () => 0.5 };
const specOf = (raw: RawObject) => String(raw['spec']);

async function open(
  options: {
    watchList?: boolean;
    optional?: boolean;
    timing?: Partial<ReflectorTiming>;
    before?: (server: FaultServer) => void;
  } = {},
): Promise<Scene> {
  const server = await startFaultServer(options);
  server.put('a', '1');
  server.put('b', '1');
  options.before?.(server);
  const client = openKube({ kubeconfig: server.kubeconfig, userAgent: 'test' });
  const reflector = reflect({
    client,
    resource: nodes,
    parse: specOf,
    timing: { ...timing, ...options.timing },
    ...(options.optional === undefined ? {} : { optional: options.optional }),
  });
  const changes: ReflectorChange<string>[] = [];
  reflector.subscribe((change) => changes.push(change));
  scene = { server, client, reflector, changes, holds: (...pairs) => holds(reflector, pairs) };
  await reflector.synced;
  return scene;
}

async function holds(reflector: Reflector<string>, pairs: readonly string[]): Promise<void> {
  const text = () =>
    [...reflector.entries()]
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(' ');
  const wanted = [...pairs].sort().join(' ');
  if (text() === wanted) return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the mirror holds "${text()}", not "${wanted}"`)), 60_000);
    const unsubscribe = reflector.subscribe(() => {
      if (text() !== wanted) return;
      clearTimeout(timer);
      unsubscribe();
      resolve();
    });
  });
}

const kinds = (server: FaultServer) => server.requests.map((request) => request.kind).join(' ');
const count = (server: FaultServer, kind: string) => server.requests.filter((request) => request.kind === kind).length;
const summary = (changes: readonly ReflectorChange<string>[]) =>
  changes.map(({ key, before, after }) => `${key}:${before ?? ''}>${after ?? ''}`).join(' ');

describe('reflector', () => {
  afterEach(async () => {
    await scene.reflector.stop();
    await scene.client.close();
    await scene.server.close();
  });

  test('reads by WatchList and continues to watch on the same stream', async () => {
    const { server, changes, reflector } = await open();
    server.put('c', '1');
    server.put('a', '2');
    server.remove('b');
    await scene.holds('a=2', 'c=1');
    assert.equal(summary(changes), 'a:>1 b:>1 c:>1 a:1>2 b:1>');
    assert.equal(kinds(server), 'watch-list');
    assert.equal(reflector.size, 2);
    assert.equal(reflector.get('c'), '1');
  });

  test('asks for bookmarks and for a watch of limited, jittered length', async () => {
    const { server } = await open();
    const query = server.requests[0]?.url.searchParams;
    assert.equal(query?.get('allowWatchBookmarks'), 'true');
    assert.equal(query.get('timeoutSeconds'), '450');
    assert.equal(query.get('resourceVersionMatch'), 'NotOlderThan');
  });

  test('reads by list in pages where WatchList is refused, and does not ask again', async () => {
    const { server } = await open({
      watchList: false,
      before: (server) => {
        for (let index = 0; index < 1100; index++) server.put(`n${index}`, '1');
      },
    });
    assert.equal(scene.reflector.size, 1102);
    server.compact();
    server.endWatches('clean');
    server.put('a', '2');
    await new Promise<void>((resolve) => {
      scene.reflector.subscribe(() => resolve());
    });
    assert.equal(scene.reflector.get('a'), '2');
    assert.equal(count(server, 'watch-list'), 1);
    assert.equal(count(server, 'list'), 24);
  });

  test('reads everything at once when the continue token expires between two pages', async () => {
    const { server } = await open({
      watchList: false,
      before: (server) => {
        for (let index = 0; index < 600; index++) server.put(`n${index}`, '1');
        server.breakNext(({ url }, response) => url.searchParams.has('continue') && refuse(response, 410, 'Expired'));
      },
    });
    assert.equal(scene.reflector.size, 602);
    assert.equal(server.requests[3]?.url.searchParams.has('limit'), false);
  });

  test('a reset in the middle of a watch is resumed from the last version, repeating nothing', async () => {
    const { server, changes } = await open();
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    server.endWatches('reset');
    server.put('b', '2');
    await scene.holds('a=2', 'b=2');
    assert.equal(kinds(server), 'watch-list watch');
    assert.equal(summary(changes), 'a:>1 b:>1 a:1>2 b:1>2');
  });

  test('a clean close is resumed', async () => {
    const { server } = await open();
    server.sendBookmark();
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    server.endWatches('clean');
    server.put('c', '1');
    await scene.holds('a=2', 'b=1', 'c=1');
    assert.equal(kinds(server), 'watch-list watch');
  });

  test('a resumed watch starts at the last bookmark', async () => {
    const { server } = await open();
    server.compact();
    server.sendBookmark();
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    server.endWatches('reset');
    server.put('a', '3');
    await scene.holds('a=3', 'b=1');
    assert.equal(server.requests.at(-1)?.url.searchParams.get('resourceVersion'), '104');
  });

  for (const [status, reason] of [
    [503, 'ServiceUnavailable'],
    [500, 'InternalError'],
    [429, 'TooManyRequests'],
    [403, 'Forbidden'],
  ] as const) {
    test(`a watch answered ${status} is resumed`, async () => {
      const { server } = await open();
      for (let count = 0; count < 3; count++)
        server.breakNext(({ kind }, response) => kind === 'watch' && refuse(response, status, reason));
      server.endWatches('reset');
      server.put('a', '2');
      await scene.holds('a=2', 'b=1');
      assert.equal(kinds(server), 'watch-list watch watch watch watch');
    });
  }

  for (const status of [500, 429]) {
    test(`a list answered ${status} is asked again`, async () => {
      const { server } = await open({
        watchList: false,
        before: (server) => {
          server.breakNext(({ kind }, response) => kind === 'list' && refuse(response, status, ''));
          server.breakNext(({ kind }, response) => kind === 'list' && refuse(response, status, ''));
        },
      });
      assert.equal(scene.reflector.size, 2);
      assert.equal(count(server, 'list'), 3);
    });
  }

  test('Retry-After is waited for', async () => {
    const { server } = await open();
    server.breakNext(({ kind }, response) => kind === 'watch' && refuse(response, 429, '', { 'retry-after': '1' }));
    server.endWatches('reset');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    const [, refused, again] = server.requests;
    assert.ok((again?.atMs ?? 0) - (refused?.atMs ?? 0) >= 990);
  });

  test('an expired version causes a full read that reports only differences', async () => {
    const { server, changes } = await open();
    // The watch is cut first, so that the changes are seen by the full read only.
    server.breakNext(({ kind }, response) => {
      if (kind !== 'watch') return false;
      server.remove('b');
      server.put('a', '2');
      server.put('c', '1');
      server.compact();
      return refuse(response, 410, 'Expired');
    });
    server.endWatches('reset');
    await scene.holds('a=2', 'c=1');
    assert.equal(summary(changes), 'a:>1 b:>1 b:1> a:1>2 c:>1');
    assert.equal(kinds(server), 'watch-list watch watch-list');
  });

  test('an error 410 within the stream is answered by a full read', async () => {
    const { server } = await open();
    server.sendRaw('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Gone","message":"too old"}}\n');
    server.put('b', '2');
    await scene.holds('a=1', 'b=2');
    assert.equal(kinds(server), 'watch-list watch-list');
  });

  test('an object recreated under its name is reported as deleted and added', async () => {
    const { server, changes } = await open();
    server.breakNext(({ kind }, response) => {
      if (kind !== 'watch') return false;
      server.remove('a');
      server.put('a', '9');
      server.compact();
      return refuse(response, 410, 'Expired');
    });
    server.endWatches('reset');
    await scene.holds('a=9', 'b=1');
    assert.equal(summary(changes), 'a:>1 b:>1 a:1> a:>9');
  });

  test('a line that cannot be decoded breaks the stream; nothing after it is taken from it', async () => {
    const { server } = await open();
    server.sendRaw('{"type":"MODIFIED","object":{"metada\n');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    assert.equal(kinds(server), 'watch-list watch');
  });

  test('a line that cannot be decoded twice is passed by a full read', async () => {
    const { server } = await open();
    server.breakNext(({ kind }, response) => kind === 'watch' && junk(response));
    server.sendRaw('junk\n');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    assert.equal(kinds(server), 'watch-list watch watch-list');
  });

  function junk(response: ServerResponse): true {
    response.writeHead(200);
    response.write('junk\n');
    return true;
  }

  test('a stream that ends within a line is resumed', async () => {
    const { server } = await open();
    server.sendRaw('{"type":"MODI');
    server.endWatches('clean');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
  });

  test('a silent stream is broken after the agreed time', async () => {
    const { server } = await open({ timing: { silenceMs: 1500 } });
    server.breakNext(({ kind }, response) => {
      if (kind !== 'watch') return false;
      response.writeHead(200);
      response.flushHeaders();
      return true;
    });
    server.endWatches('reset');
    await new Promise((resolve) => setTimeout(resolve, 50));
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    assert.equal(kinds(server), 'watch-list watch watch');
  });

  test('a connection without any answer is broken after the agreed time', async () => {
    const { server } = await open({ timing: { silenceMs: 1500 } });
    server.breakNext(({ kind }) => kind === 'watch');
    server.endWatches('reset');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
  });

  test('a WatchList that breaks half way is followed by a list', async () => {
    const { server } = await open({
      before: (server) =>
        server.breakNext(({ kind }, response) => {
          if (kind !== 'watch-list') return false;
          response.writeHead(200);
          response.end('{"type":"ADDED","object":{"metadata":{"name":"x","uid":"x","resourceVersion":"1"}}}\n');
          return true;
        }),
    });
    await scene.holds('a=1', 'b=1');
    assert.equal(kinds(server).slice(0, 15), 'watch-list list');
    assert.equal(count(server, 'watch-list'), 1);
  });

  test('a WatchList refused within the stream, as with an older etcd, is followed by a list at once', async () => {
    const error = {
      type: 'ERROR',
      object: { kind: 'Status', code: 500, reason: 'InternalError', message: 'no progress requests' },
    };
    const { server } = await open({
      before: (server) =>
        server.breakNext(({ kind }, response) => {
          if (kind !== 'watch-list') return false;
          response.writeHead(200);
          response.end(`${JSON.stringify(error)}\n`);
          return true;
        }),
    });
    assert.equal(kinds(server).slice(0, 15), 'watch-list list');
  });

  test('a version from the future is given up for a full read', async () => {
    const { server } = await open();
    server.breakNext(({ kind }, response) => {
      if (kind !== 'watch') return false;
      response.writeHead(200);
      const message = 'Timeout: Too large resource version: 197, current: 34';
      response.end(`${JSON.stringify({ type: 'ERROR', object: { code: 504, reason: 'Timeout', message } })}\n`);
      return true;
    });
    server.endWatches('reset');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    assert.equal(kinds(server), 'watch-list watch watch-list');
  });

  const absent = (server: FaultServer, times: number) => {
    for (let count = 0; count < times; count++) server.breakNext((_, response) => refuse(response, 404, 'NotFound'));
  };

  test('an optional kind that is not served is synced and empty, and mirrored once it is there', async () => {
    const { server } = await open({ optional: true, timing: { absentMs: 150 }, before: (server) => absent(server, 2) });
    assert.equal(scene.reflector.size, 0);
    assert.equal(kinds(server), 'watch-list');
    await scene.holds('a=1', 'b=1');
    assert.equal(kinds(server), 'watch-list watch-list watch-list');
    const [first, second, third] = server.requests.map(({ atMs }) => atMs);
    assert.ok((second ?? 0) - (first ?? 0) >= 145 && (third ?? 0) - (second ?? 0) >= 145);
  });

  test('all objects of an optional kind that is no longer served are deleted', async () => {
    const { server, changes } = await open({ optional: true, timing: { absentMs: 100 } });
    absent(server, 3);
    server.endWatches('reset');
    await scene.holds();
    assert.equal(summary(changes), 'a:>1 b:>1 a:1> b:1>');
    assert.equal(kinds(server), 'watch-list watch watch');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    assert.equal(kinds(server), 'watch-list watch watch watch-list watch-list');
  });

  test('a single answer that an optional kind is not served deletes nothing', async () => {
    const { server, changes } = await open({ optional: true });
    absent(server, 1);
    server.endWatches('reset');
    server.put('a', '2');
    await scene.holds('a=2', 'b=1');
    assert.equal(summary(changes), 'a:>1 b:>1 a:1>2');
    assert.equal(kinds(server), 'watch-list watch watch');
  });

  test('an optional kind that may not be read is not taken for absent', async () => {
    const { server } = await open({
      optional: true,
      before: (server) => server.breakNext((_, response) => refuse(response, 403, 'Forbidden')),
    });
    assert.equal(scene.reflector.size, 2);
    assert.equal(kinds(server), 'watch-list watch-list');
  });

  test('a kind that is not optional is waited for', async () => {
    const { server } = await open({ before: (server) => absent(server, 2) });
    assert.equal(scene.reflector.size, 2);
    assert.equal(kinds(server), 'watch-list watch-list watch-list');
  });

  test('a server that closes every watch at once gets no flood of requests', async () => {
    const { server } = await open({ timing: { baseMs: 40, maxMs: 10_000, random: () => 0.99 } });
    for (let count = 0; count < 50; count++)
      server.breakNext(({ kind }, response) => {
        if (kind !== 'watch') return false;
        response.writeHead(200);
        response.end();
        return true;
      });
    server.endWatches('reset');
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.ok(server.requests.length <= 6, kinds(server));
  });

  test('stopping ends the requests, and synced rejects if it was never reached', async () => {
    const { server, client } = await open({ before: () => undefined });
    server.breakNext(({ kind }) => kind === 'watch-list');
    const other = reflect({ client, resource: nodes, parse: specOf, timing });
    setTimeout(() => void other.stop(), 50);
    await assert.rejects(other.synced, { name: 'AbortError' });
  });

  test('an exception of a listener ends the process', async () => {
    const { server } = await open();
    const script = `
    const { openKube } = await import('${import.meta.resolve('./client.ts')}');
    const { reflect } = await import('${import.meta.resolve('./reflector.ts')}');
    const { nodes } = await import('${import.meta.resolve('./resources.ts')}');
    const client = openKube({ kubeconfig: '${server.kubeconfig}', userAgent: 'test' });
    const reflector = reflect({ client, resource: nodes, parse: (raw) => raw.metadata.name });
    reflector.subscribe(() => { throw new TypeError('a defect'); });
  `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    const [code] = await once(child, 'close');
    assert.equal(code, 1);
    assert.match(output, /a defect/);
  });
});
