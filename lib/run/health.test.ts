import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createRegistry, serveHealth } from './health.ts';

test('health, readiness and metrics are served', async (t) => {
  let isReady = false;
  const server = await serveHealth({ address: '127.0.0.1:0', ready: () => isReady, registry: createRegistry('test') });
  t.after(() => server.close());
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return { status: response.status, body: await response.text() };
  };
  assert.equal((await get('/healthz')).status, 200);
  assert.equal((await get('/readyz')).status, 503);
  isReady = true;
  assert.equal((await get('/readyz?verbose')).status, 200);
  assert.equal((await get('/')).status, 404);
  const { body } = await get('/metrics');
  assert.match(body, /^isthmus_nodejs_eventloop_lag_p99_seconds\{room="test"\} /m);
  assert.match(body, /^isthmus_process_resident_memory_bytes\{room="test"\} \d/m);
});

test('addresses that cannot be read or bound are refused', async (t) => {
  const options = { ready: () => true, registry: createRegistry('test') };
  for (const address of ['127.0.0.1', 'host:99999', 'a:b:1'])
    await assert.rejects(serveHealth({ ...options, address }), RangeError);
  const server = await serveHealth({ ...options, address: '[::1]:0' });
  t.after(() => server.close());
  await assert.rejects(serveHealth({ ...options, address: `[::1]:${server.port}` }), { code: 'EADDRINUSE' });
});
