import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { TestTimers } from '../../lib/rounds/testing.ts';
import { both, controllerOf, node, outside } from '../testing-external.ts';
import { GatewayHolders } from './gateway-holders.ts';

const port = 'blue-external';

/** A process that knows of no holder yet. */
async function open(t: TestContext, former?: readonly string[]) {
  const controller = await controllerOf(outside());
  const { cluster } = controller;
  const timers = new TestTimers();
  let changes = 0;
  const holders = new GatewayHolders({
    cluster,
    ...(former && { former: new Map([[port, former]]) }),
    onChange: () => (changes += 1),
    timers,
    nowMs: timers.nowMs,
  });
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
  return { controller, holders, timers, order, see, pass, known, first, second, changes: () => changes };
}

/** A port whose first node has it. */
async function start(t: TestContext) {
  const bed = await open(t);
  await bed.see(bed.first);
  await bed.pass(10_000);
  return bed;
}

test('the cluster learns soon that another node took a port over, with the time', async (t) => {
  const { controller, order, see, pass, known, first, second } = await start(t);
  await see(second);
  await pass(299);
  assert.equal(known(), first);
  await pass(1);
  assert.equal(known(), second);
  assert.equal(order()[0], second);
  assert.equal(controller.cluster.gatewayHolders?.get(port)?.since, '1970-01-01T00:00:10Z');
});

test('a node that returns takes the port by turns, and the order stays', async (t) => {
  const { order, see, pass, known, first, second, changes } = await start(t);
  await see(second);
  await pass(10_000);
  const before = changes();
  for (let turn = 0; turn < 10; turn += 1) {
    await see(first);
    await pass(450);
    await see(second);
    await pass(50);
  }
  await pass(60_000);
  assert.deepEqual([known(), order()[0], changes()], [second, second, before]);
  // The port moves that often, but a further move is followed.
  await see(first);
  await pass(2999);
  assert.equal(known(), second);
  await pass(1);
  assert.deepEqual([known(), order()[0]], [first, first]);
});

test('a node that never had the port may return as well', async (t) => {
  const { see, pass, known, first, second, changes } = await start(t);
  const before = changes();
  await see(second);
  await pass(200);
  await see(first);
  await pass(300);
  await see(second);
  await pass(500);
  await see(first);
  await pass(10_000);
  assert.deepEqual([known(), changes()], [first, before]);
});

test('a node that was drained may take the port over as others do', async (t) => {
  const { controller, order, see, pass, known, first, second } = await start(t);
  const cordon = async (isCordoned: boolean): Promise<void> => {
    controller.put('nodes', node(`n${first.slice(-1)}`, both, { isCordoned }).raw);
    await controller.settle();
  };
  await cordon(true);
  await see(undefined);
  await see(second);
  assert.equal(known(), second);
  await cordon(false);
  await pass(10_000);
  await see(first);
  await pass(300);
  assert.deepEqual([known(), order()[0]], [first, first]);
});

test('ten minutes after a node lost the port, it may take it over as others do', async (t) => {
  const { see, pass, known, first, second } = await start(t);
  await see(second);
  await pass(300);
  await pass(600_000);
  await see(first);
  await pass(300);
  assert.equal(known(), first);
});

test('at a start the cluster learns nothing while another node than the first one has the port', async (t) => {
  const { see, pass, known, first, second, changes } = await open(t, ['chassis-1', 'chassis-2']);
  assert.deepEqual([first, second].sort(), ['chassis-1', 'chassis-2']);
  await see('chassis-2');
  await pass(400);
  assert.deepEqual([known(), changes()], [undefined, 0]);
  await see('chassis-1');
  assert.equal(known(), 'chassis-1');
  const other = await open(t, ['chassis-1', 'chassis-2']);
  await other.see('chassis-2');
  await other.pass(3000);
  assert.equal(other.known(), 'chassis-2');
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

test('moves to the first node are no turns', async (t) => {
  const { controller, order, see, pass, known, first, second } = await start(t);
  const cordon = async (name: string, isCordoned: boolean): Promise<void> => {
    controller.put('nodes', node(`n${name.slice(-1)}`, both, { isCordoned }).raw);
    await controller.settle();
  };
  for (let drain = 0; drain < 6; drain += 1) {
    const [from, to] = drain % 2 === 0 ? [first, second] : [second, first];
    await cordon(from, true);
    await see(to);
    await cordon(from, false);
  }
  await pass(3500);
  await see(second);
  await pass(300);
  assert.deepEqual([known(), order()[0]], [second, second]);
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
