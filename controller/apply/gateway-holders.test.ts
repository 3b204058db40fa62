import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { TestTimers } from '../../lib/rounds/testing.ts';
import { both, controllerOf, node, outside } from '../testing-external.ts';
import { GatewayHolders } from './gateway-holders.ts';

const port = 'blue-external';

/** A port whose first node has it. */
async function start(t: TestContext) {
  const controller = await controllerOf(outside());
  const { cluster } = controller;
  const timers = new TestTimers();
  let changes = 0;
  const holders = new GatewayHolders({ cluster, onChange: () => (changes += 1), timers, nowMs: timers.nowMs });
  t.after(() => {
    holders.close();
    controller.close();
  });
  const order = (): readonly string[] =>
    cluster.gatewayPorts.get('blue/external')?.nodes.map((one) => one.chassis) ?? [];
  const see = async (chassis: string | undefined): Promise<void> => {
    holders.set(new Map(chassis === undefined ? [] : [[port, chassis]]));
    await controller.settle();
  };
  const pass = async (ms: number): Promise<void> => {
    timers.pass(ms);
    await controller.settle();
  };
  const known = (): string | undefined => cluster.gatewayHolders?.get(port)?.chassis;
  const [first = '', second = ''] = order();
  assert.equal(cluster.gatewayHolders, undefined);
  await see(first);
  await pass(10_000);
  return { controller, holders, timers, order, see, pass, known, first, second, changes: () => changes };
}

test('the cluster learns at once that another node took a port over, with the time', async (t) => {
  const { controller, order, see, known, second } = await start(t);
  await see(second);
  assert.equal(known(), second);
  assert.equal(order()[0], second);
  assert.equal(controller.cluster.gatewayHolders?.get(port)?.since, '1970-01-01T00:00:10Z');
});

test('nodes that do not know each other yet move nothing', async (t) => {
  const { controller, order, see, pass, known, first, changes } = await start(t);
  const before = changes();
  const { kind, raw } = node('n3', both);
  controller.put(kind, raw);
  await controller.settle();
  await see('chassis-3');
  await pass(500);
  await see(first);
  await pass(10_000);
  assert.deepEqual([known(), order()[0], changes()], [first, first, before]);
  // The cluster learns what remains after a while.
  controller.put('nodes', node('n3', { ...both, 'ovn.kubernetes.io/external-gw': 'false' }).raw);
  await controller.settle();
  await see('chassis-2');
  await pass(3000);
  assert.equal(known(), 'chassis-2');
});

test('the cluster learns at once of a port on its way to the first node, also after a change of the nodes', async (t) => {
  const { controller, see, known, order, first, second } = await start(t);
  const { kind, raw } = node(`n${first.slice(-1)}`, both, { isCordoned: true });
  controller.put(kind, raw);
  await controller.settle();
  assert.equal(order()[0], second);
  await see(undefined);
  assert.equal(known(), first, 'no node has it for a moment');
  await see(second);
  assert.equal(known(), second);
});

test('the cluster learns after a while that no node has a port', async (t) => {
  const { see, pass, known, first, changes } = await start(t);
  await see(undefined);
  await pass(4999);
  assert.equal(known(), first);
  await pass(1);
  assert.equal(known(), undefined);
  assert.equal(changes(), 2);
  await see(first);
  assert.equal(known(), first, 'the first one at once');
});

test('nodes that take a port by turns do not change its order for a minute', async (t) => {
  const { order, see, pass, known, first, second } = await start(t);
  const orders: (string | undefined)[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    await see(turn % 2 === 0 ? second : first);
    await pass(3500);
    orders.push(order()[0]);
  }
  // Four moves and the one that is too many; then the order is that of the fifth.
  assert.deepEqual(orders.slice(0, 5), [second, first, second, first, second]);
  assert.deepEqual(new Set(orders.slice(5)), new Set([second]));
  await see(first);
  await pass(60_000);
  assert.deepEqual([known(), order()[0]], [first, first]);
});

test('closed, it starts no timer and says nothing', async (t) => {
  const { holders, timers, see, pass, known, first, changes } = await start(t);
  const before = changes();
  holders.close();
  const started = t.mock.method(timers, 'after');
  await see(undefined);
  await pass(60_000);
  assert.deepEqual([known(), changes(), started.mock.callCount()], [first, before, 0]);
});
