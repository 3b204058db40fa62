import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { openKube } from './client.ts';
import { KubeApiError, KubeUnreachable } from './errors.ts';
import { refuse, startFaultServer } from './fault-server.ts';
import type { FaultServer } from './fault-server.ts';
import { nodes, pods } from './resources.ts';
import type { KubeClient } from './types.ts';

describe('client', () => {
  let server: FaultServer;
  let client: KubeClient;

  before(async () => {
    server = await startFaultServer();
    for (let index = 0; index < 1200; index++) server.put(`n${index}`);
    client = openKube({ kubeconfig: server.kubeconfig, userAgent: 'test' });
  });
  after(async () => {
    await client.close();
    await server.close();
  });

  test('requests one after the other share a connection', async () => {
    for (let count = 0; count < 20; count++) await client.get(nodes, { name: 'n1' });
    // A second one opens while the first still reads the end of an answer.
    assert.ok(server.connections <= 2, `${server.connections} connections`);
  });

  test('requests at once are bounded to 16 connections, and open watches do not count', async () => {
    const stop = new AbortController();
    const watches = Array.from({ length: 20 }, async () => {
      const lines = client.stream('/api/v1/nodes?watch=1', { silenceMs: 60_000, signal: stop.signal });
      await assert.rejects(lines[Symbol.asyncIterator]().next(), { name: 'AbortError' });
    });
    while (server.requests.filter(({ kind }) => kind === 'watch').length < 20)
      await new Promise((resolve) => setTimeout(resolve, 10));
    const before = server.connections;
    await Promise.all(Array.from({ length: 100 }, () => client.get(nodes, { name: 'n1' })));
    assert.ok(server.connections - before <= 16, `${server.connections - before} connections`);
    stop.abort();
    await Promise.all(watches);
  });

  test('a list is read in pages', async () => {
    const items = await client.list(nodes);
    assert.equal(items.length, 1200);
    assert.equal(items[1199]?.metadata.name, 'n1199');
  });

  test('an error answer carries status, reason, message and Retry-After', async () => {
    server.breakNext((_, response) => refuse(response, 429, 'TooManyRequests', { 'retry-after': '3' }));
    await assert.rejects(client.get(nodes, { name: 'n1' }), (error) => {
      assert.ok(error instanceof KubeApiError);
      assert.deepEqual(
        [error.status, error.reason, error.retryAfterMs, error.retry],
        [429, 'TooManyRequests', 3000, 'backoff'],
      );
      assert.match(error.message, /GET \/api\/v1\/nodes\/n1: 429 refused by the test/);
      return true;
    });
  });

  test('an error answer that is no Status object is quoted', async () => {
    server.breakNext((_, response) => {
      response.writeHead(502).end('<html>bad gateway</html>');
      return true;
    });
    await assert.rejects(client.get(nodes, { name: 'n1' }), { status: 502, message: /bad gateway/ });
  });

  test('an answer cut off, an answer that is no JSON and silence are KubeUnreachable', async () => {
    server.breakNext((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{');
      setTimeout(() => response.socket?.destroy(), 20);
      return true;
    });
    await assert.rejects(client.get(nodes, { name: 'n1' }), KubeUnreachable);
    server.breakNext((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"half');
      return true;
    });
    await assert.rejects(client.get(nodes, { name: 'n1' }), KubeUnreachable);
    server.breakNext(() => true);
    await assert.rejects(client.request('GET', '/version', undefined, { timeoutMs: 1000 }), KubeUnreachable);
  });

  test('an abort rejects with the reason of the signal', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    server.breakNext(() => {
      stop.abort(reason);
      return true;
    });
    await assert.rejects(client.get(nodes, { name: 'n1' }, { signal: stop.signal }), reason);
  });

  test('deleting an absent object, or by the uid of a former one, is no error', async () => {
    for (const status of [404, 409]) {
      server.breakNext((_, response) => refuse(response, status, 'x'));
      await client.delete(nodes, { name: 'n1' }, { uid: 'u' });
    }
    server.breakNext((_, response) => refuse(response, 409, 'Conflict'));
    await assert.rejects(client.delete(nodes, { name: 'n1' }), { status: 409 });
  });

  test('writes go to the right path with the right content type and field manager', async () => {
    const seen: string[] = [];
    const note = () =>
      server.breakNext(({ url }, response) => {
        seen.push(`${response.req.method} ${url.pathname}${url.search} ${response.req.headers['content-type']}`);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
        return true;
      });
    note();
    await client.patch(nodes, { name: 'n1' }, 'merge', {}, { subresource: 'status' });
    note();
    await client.patch(pods, { namespace: 'x', name: 'p' }, 'apply', {});
    note();
    await client.create(pods, { metadata: { name: 'p', namespace: 'x' } }, { fieldManager: 'me' });
    assert.deepEqual(seen, [
      'PATCH /api/v1/nodes/n1/status?fieldManager=test application/merge-patch+json',
      'PATCH /api/v1/namespaces/x/pods/p?fieldManager=test&force=true application/apply-patch+yaml',
      'POST /api/v1/namespaces/x/pods?fieldManager=me application/json',
    ]);
  });

  test('an untrusted certificate is an error, and a corrected one needs no new client', async () => {
    const other = await startFaultServer();
    const file = `${server.kubeconfig}.rotated`;
    const own = JSON.parse(readFileSync(server.kubeconfig, 'utf8')) as {
      clusters: [{ cluster: Record<string, string> }];
    };
    const foreign = JSON.parse(readFileSync(other.kubeconfig, 'utf8')) as typeof own;
    const { server: address, 'certificate-authority-data': ca = '' } = own.clusters[0].cluster;
    const caFile = `${server.kubeconfig}.ca`;
    writeFileSync(caFile, Buffer.from(foreign.clusters[0].cluster['certificate-authority-data'] ?? '', 'base64'));
    own.clusters[0].cluster = { server: address ?? '', 'certificate-authority': caFile };
    writeFileSync(file, JSON.stringify(own));
    const rotating = openKube({ kubeconfig: file, userAgent: 'test' });
    await assert.rejects(rotating.get(nodes, { name: 'n1' }), KubeUnreachable);
    writeFileSync(caFile, Buffer.from(ca, 'base64'));
    await rotating.get(nodes, { name: 'n1' });
    await rotating.close();
    await other.close();
  });

  test('connections that are refused or cut before a request was sent fail no request of a burst', async () => {
    await using door = await openDoor(server, { cuts: 40 });
    const patient = openKube({ kubeconfig: door.kubeconfig, userAgent: 'test', patienceMs: 60_000 });
    const before = server.requests.length;
    await Promise.all(Array.from({ length: 30 }, () => patient.patch(nodes, { name: 'n1' }, 'merge', {})));
    assert.equal(server.requests.length - before, 30);
    await patient.close();
    assert.equal(door.cutsLeft, 0);
  });

  test('a request that may have reached the server is sent again only if it is a read', async () => {
    const seen: string[] = [];
    const cut = () =>
      server.breakNext((_, response) => {
        seen.push(String(response.req.method));
        response.socket?.destroy();
        return true;
      });
    cut();
    await client.get(nodes, { name: 'n1' });
    cut();
    await assert.rejects(client.patch(nodes, { name: 'n1' }, 'merge', {}), {
      name: 'KubeUnreachable',
      isUnsent: false,
    });
    assert.deepEqual(seen, ['GET', 'PATCH']);
  });

  test('an API server that keeps refusing is reported after the patience, or at once without patience', async () => {
    await using door = await openDoor(server, { cuts: Infinity });
    const impatient = openKube({ kubeconfig: door.kubeconfig, userAgent: 'test', patienceMs: 0 });
    const refused = { name: 'KubeUnreachable', isUnsent: true, message: /Client network socket disconnected before/ };
    await assert.rejects(impatient.get(nodes, { name: 'n1' }), refused);
    assert.equal(door.cuts, 1);
    const patient = openKube({ kubeconfig: door.kubeconfig, userAgent: 'test', patienceMs: 300 });
    await assert.rejects(patient.get(nodes, { name: 'n1' }), refused);
    await patient.close();
    const waiting = openKube({ kubeconfig: door.kubeconfig, userAgent: 'test', patienceMs: 60_000 });
    const stop = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => stop.abort(reason), 50);
    await assert.rejects(waiting.get(nodes, { name: 'n1' }, { signal: stop.signal }), reason);
    await Promise.all([impatient.close(), waiting.close()]);
  });

  test('a call of a closed client rejects with KubeUnreachable', async () => {
    const closed = openKube({ kubeconfig: server.kubeconfig, userAgent: 'test' });
    await closed.close();
    await assert.rejects(closed.get(nodes, { name: 'n1' }), KubeUnreachable);
  });
});

interface Door extends AsyncDisposable {
  readonly kubeconfig: string;
  readonly cuts: number;
  readonly cutsLeft: number;
}

/** A way to the server that ends so many connections as soon as they are made. */
async function openDoor(server: FaultServer, { cuts }: { readonly cuts: number }): Promise<Door> {
  const text = readFileSync(server.kubeconfig, 'utf8');
  const [url = '', target = ''] = /https:\/\/127\.0\.0\.1:(\d+)/.exec(text) ?? [];
  let cutsLeft = cuts;
  let cutsDone = 0;
  const sockets = new Set<Socket>();
  const door = createServer((socket) => {
    socket.on('error', () => undefined);
    sockets.add(socket);
    if (cutsLeft > 0) {
      cutsLeft--;
      cutsDone++;
      socket.end();
      return;
    }
    const onward = connect(Number(target), '127.0.0.1');
    onward.on('error', () => undefined);
    sockets.add(onward);
    socket.pipe(onward).pipe(socket);
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const kubeconfig = `${server.kubeconfig}.door`;
  writeFileSync(kubeconfig, text.replaceAll(url, `https://127.0.0.1:${(door.address() as AddressInfo).port}`));
  return {
    kubeconfig,
    get cuts() {
      return cutsDone;
    },
    get cutsLeft() {
      return cutsLeft;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      door.close();
      await once(door, 'close');
    },
  };
}
