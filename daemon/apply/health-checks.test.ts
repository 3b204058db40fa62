import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import { freePorts } from '../../lib/testing-ports.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { HealthCheck } from '../model/service.ts';
import { HealthChecks } from './health-checks.ts';

const events: string[] = [];
let isHealthy = true;
const checks = new HealthChecks({
  isHealthy: () => isHealthy,
  onRefused: ({ name }, reason) => events.push(`${name} refused ${reason}`),
  onOver: ({ name }) => events.push(`${name} is well`),
});
after(() => checks.close());

function check(port: number, localEndpoints: number): HealthCheck {
  return { port, namespace: 'default', name: 'web', uid: 'u', localEndpoints };
}

test('the health check of a Service reports whether the node has ready endpoints', async () => {
  const [port = 0] = await freePorts(1);
  const ask = (): Promise<Response> => fetch(`http://127.0.0.1:${port}/healthz`);
  checks.set([check(port, 2)]);
  await eventually('the listener', () => events.includes('web is well'));
  const good = await ask();
  assert.deepEqual(
    [good.status, good.headers.get('X-Load-Balancing-Endpoint-Weight'), good.headers.get('Content-Type')],
    [200, '2', 'application/json'],
  );
  assert.deepEqual(await good.json(), {
    service: { namespace: 'default', name: 'web' },
    localEndpoints: 2,
    serviceProxyHealthy: true,
  });
  checks.set([check(port, 0)]);
  assert.equal((await ask()).status, 503);
  checks.set([check(port, 1)]);
  isHealthy = false;
  assert.equal((await ask()).status, 503);
  isHealthy = true;
  checks.set([]);
  await assert.rejects(ask());
});

test('a port that another program uses is reported once', async () => {
  const other = createServer().listen(0);
  await once(other, 'listening');
  const address = other.address();
  assert.ok(address !== null && typeof address === 'object');
  events.length = 0;
  checks.set([check(address.port, 1)]);
  await eventually('the refusal', () => events.length > 0);
  assert.match(events[0] ?? '', /web refused .*EADDRINUSE/);
  checks.set([check(address.port, 2)]);
  assert.equal(events.length, 1);
  checks.set([]);
  assert.deepEqual(events.slice(1), ['web is well'], 'the refusal is over with the Service');
  other.close();
});
