import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, test } from 'node:test';
import { eventually } from '../../lib/testing-eventually.ts';
import { freePorts } from '../../lib/testing-ports.ts';
import { Healthz } from './healthz.ts';

let [isHealthy, isEligible] = [true, true];
let updatedMs: number | undefined;
let changes = 0;
let server: Healthz | undefined;
afterEach(() => server?.close());

async function open(port: number): Promise<Healthz> {
  [isHealthy, isEligible, changes, updatedMs] = [true, true, 0, Date.UTC(2026, 0, 2)];
  server = new Healthz({
    port,
    isHealthy: () => isHealthy,
    isEligible: () => isEligible,
    updatedMs: () => updatedMs,
    onChange: () => changes++,
  });
  await new Promise(setImmediate);
  return server;
}

async function ask(port: number, path: string) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  assert.equal(response.headers.get('Content-Type'), 'application/json');
  assert.equal(response.headers.get('X-Content-Type-Options'), 'nosniff');
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('/healthz needs the table and an eligible node, /livez only the table', async () => {
  const [port = 0] = await freePorts(1);
  await open(port);
  const statuses: string[] = [];
  for (const [healthy, eligible] of [
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ] as const) {
    [isHealthy, isEligible] = [healthy, eligible];
    const [ready, live] = [await ask(port, '/healthz?from=cloud'), await ask(port, '/livez')];
    statuses.push(`${ready.status} ${live.status}`);
    assert.equal(ready.body['nodeEligible'], eligible);
    assert.ok(!('nodeEligible' in live.body));
    assert.deepEqual([ready.body['healthy'], live.body['healthy']], [healthy, healthy]);
  }
  assert.deepEqual(statuses, ['200 200', '503 200', '503 503', '503 503']);
});

test('the body is that of kube-proxy: the last update is now if the answer is 200', async () => {
  const [port = 0] = await freePorts(1);
  await open(port);
  const good = (await ask(port, '/healthz')).body;
  assert.deepEqual(Object.keys(good), ['lastUpdated', 'currentTime', 'nodeEligible', 'healthy', 'status']);
  assert.equal(good['lastUpdated'], good['currentTime']);
  const family = { lastUpdated: '2026-01-02T00:00:00.000Z', healthy: true };
  assert.deepEqual(good['status'], { IPv4: family, IPv6: family });
  isHealthy = false;
  assert.equal((await ask(port, '/livez')).body['lastUpdated'], '2026-01-02T00:00:00.000Z');
  updatedMs = undefined;
  assert.equal((await ask(port, '/healthz')).body['lastUpdated'], '0001-01-01T00:00:00Z');
});

test('it answers on all addresses of both families, and other paths with 404', async () => {
  const [port = 0] = await freePorts(1);
  await open(port);
  for (const host of ['127.0.0.1', '127.0.0.2', '[::1]'])
    assert.equal((await fetch(`http://${host}:${port}/healthz`, { method: 'HEAD' })).status, 200, host);
  for (const path of ['/', '/healthz/', '/metrics', '//'])
    assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 404, path);
});

test('a port that another program has is taken once it is free', async () => {
  const [port = 0] = await freePorts(1);
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const healthz = await open(port);
  await eventually('the refusal', () => healthz.refusal !== undefined);
  assert.match(healthz.refusal ?? '', /EADDRINUSE/);
  await new Promise((resolve) => setTimeout(resolve, 2200));
  assert.equal(changes, 1, 'further attempts are no news');
  other.close();
  await eventually('the port', () => healthz.refusal === undefined);
  assert.equal(changes, 2);
  assert.equal((await ask(port, '/healthz')).status, 200);
});
