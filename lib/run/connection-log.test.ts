import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectionLog } from './connection-log.ts';

const server = 'Open_vSwitch at unix:/run/openvswitch/db.sock';

function bed(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: string[] = [];
  const logger = (level: string) => (_: object, message: string) => lines.push(`${level} ${message}`);
  const stop = new AbortController();
  const where = { database: 'Open_vSwitch', remotes: ['unix:/run/openvswitch/db.sock'] };
  const onState = connectionLog({ log: { info: logger('info'), warn: logger('warn') }, ...where, signal: stop.signal });
  return { lines, onState, stop };
}

test('a server that never answers is logged once, with the last reason', (t) => {
  const { lines, onState } = bed(t);
  for (const code of ['ENOENT', 'EACCES']) {
    onState('connecting');
    onState('disconnected', new Error(`connect ${code}`));
  }
  t.mock.timers.tick(4999);
  assert.deepEqual(lines, []);
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines, [`warn ${server} does not answer: connect EACCES; trying again`]);
  onState('synced');
  assert.deepEqual(lines.slice(1), [`info ${server} answers`]);
});

test('a server that accepts the connection and stays silent is logged too', (t) => {
  const { lines, onState } = bed(t);
  onState('connecting');
  t.mock.timers.tick(5000);
  assert.deepEqual(lines, [`warn ${server} does not answer; trying again`]);
});

test('a short interruption is not logged; the next long one is, with its own reason', (t) => {
  const { lines, onState } = bed(t);
  onState('synced');
  onState('disconnected', new Error('reset'));
  t.mock.timers.tick(4000);
  onState('synced');
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines, []);
  onState('disconnected', new Error('refused'));
  t.mock.timers.tick(5000);
  assert.deepEqual(lines, [`warn ${server} does not answer: refused; trying again`]);
});

test('a connection that was closed on purpose is not logged', (t) => {
  const { lines, onState, stop } = bed(t);
  onState('synced');
  stop.abort();
  onState('disconnected', new Error('closed'));
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines, []);
});
