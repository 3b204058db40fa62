import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import { planKey } from '../../plan/plan.ts';
import { TestController } from '../../testing-api.ts';
import { both, bridge, controllerOf, made, node, outside, storedIn, type Made } from '../../testing-external.ts';

const port = 'gateway-port/blue/external';

const rowsOf = ({ cluster }: TestController): readonly DesiredRow[] => planKey(cluster, port).rows;

/** Chassis and priorities, as the database has them. */
function priorities(controller: TestController): Readonly<Record<string, number>> {
  const rows = rowsOf(controller).filter(({ table }) => table === 'Gateway_Chassis');
  return Object.fromEntries(rows.map(({ columns }) => [columns['chassis_name'], columns['priority'] as number]));
}

function order(controller: TestController): readonly string[] {
  const all = priorities(controller);
  return Object.keys(all).sort((a, b) => (all[b] ?? 0) - (all[a] ?? 0));
}

async function hold(
  controller: TestController,
  chassis: string | undefined,
  since = '2026-01-01T00:00:01Z',
): Promise<void> {
  const entries = chassis === undefined ? [] : ([['blue-external', { chassis, since }]] as const);
  controller.cluster.setGatewayHolders(new Map(entries));
  await controller.settle();
}

async function set(controller: TestController, ...args: Parameters<typeof node>): Promise<void> {
  const { kind, raw } = node(...args);
  controller.put(kind, raw);
  await controller.settle();
}

function status(controller: TestController, key: string): Readonly<Record<string, unknown>> {
  return controller.objects.get(key)?.['status'] as Readonly<Record<string, unknown>>;
}

/** Another process, which finds these objects, orders in the database and holders. */
async function restarted(
  objects: readonly Made[],
  orders: ReadonlyMap<string, readonly string[]>,
  holders: View['gatewayHolders'],
): Promise<TestController> {
  const controller = new TestController();
  for (const { kind, raw } of objects) controller.put(kind, raw);
  controller.cluster.restore(new Map(), new Map(), orders);
  if (holders !== undefined) controller.cluster.setGatewayHolders(holders);
  await controller.settle();
  return controller;
}

const chassisOf = (name: string): string => `chassis-${name.slice(1)}`;

/** The first and the second node of a new port. */
async function started(): Promise<{ controller: TestController; first: string; second: string }> {
  const controller = await controllerOf(outside());
  const [first = '', second = ''] = order(controller).map((chassis) => `n${chassis.slice(-1)}`);
  await hold(controller, chassisOf(first));
  return { controller, first, second };
}

describe('the order of the nodes of a gateway port', () => {
  test('the node that took over is the first; the former one comes back behind it', async () => {
    const { controller, first, second } = await started();
    const before = rowsOf(controller).filter(({ table }) => table !== 'Gateway_Chassis');
    await hold(controller, chassisOf(second));
    assert.deepEqual(order(controller), [chassisOf(second), chassisOf(first)]);
    assert.deepEqual(
      Object.values(priorities(controller)).toSorted((a, b) => a - b),
      [99, 100],
    );
    await set(controller, first, both, { isReady: false });
    await set(controller, first, both);
    assert.deepEqual(order(controller), [chassisOf(second), chassisOf(first)]);
    // Gone and back: at the end, and behind a node that was there.
    await set(controller, 'n3', both);
    controller.remove('nodes', first);
    await controller.settle();
    await set(controller, first, both);
    assert.deepEqual(order(controller), [chassisOf(second), 'chassis-3', chassisOf(first)]);
    const port = (rows: readonly DesiredRow[]): unknown =>
      rows.map((row) => ({ ...row, columns: { ...row.columns, gateway_chassis: null } }));
    assert.deepEqual(port(rowsOf(controller).filter(({ table }) => table !== 'Gateway_Chassis')), port(before));
    controller.close();
  });

  test('a cordoned node gives up the port to a node that is alive, and stays behind it', async () => {
    const { controller, first, second } = await started();
    await set(controller, second, both, { isReady: false });
    await set(controller, first, both, { isCordoned: true });
    assert.equal(order(controller)[0], chassisOf(first), 'no other node is alive');
    await set(controller, second, both);
    assert.deepEqual(order(controller), [chassisOf(second), chassisOf(first)]);
    await set(controller, second, both, { isReady: false });
    assert.equal(order(controller)[0], chassisOf(first), 'it still has the port, and the other one is dead');
    await set(controller, second, both);
    await hold(controller, chassisOf(second));
    await set(controller, first, both);
    assert.deepEqual(order(controller), [chassisOf(second), chassisOf(first)], 'nothing moves back');
    controller.close();
  });

  test('a node without its label keeps the port until another node has it', async () => {
    const { controller, first, second } = await started();
    await set(controller, first, { [bridge]: 'true' });
    assert.deepEqual(order(controller), [chassisOf(second), chassisOf(first)]);
    await hold(controller, chassisOf(second));
    assert.deepEqual(order(controller), [chassisOf(second)]);
    // Without the bridge it cannot carry anything.
    await set(controller, first, both);
    await hold(controller, chassisOf(first));
    await set(controller, first, {});
    assert.deepEqual(order(controller), [chassisOf(second)]);
    controller.close();
  });

  test('without any labelled node there is no port, even if a node has it', async () => {
    const { controller, first, second } = await started();
    await set(controller, second, { [bridge]: 'true' });
    await set(controller, first, { [bridge]: 'true' });
    assert.deepEqual(rowsOf(controller), []);
    controller.close();
  });

  test('has five nodes at most, the holder among them', async () => {
    const { controller, first } = await started();
    for (const name of ['n3', 'n4', 'n5', 'n6', 'n7']) await set(controller, name, both);
    assert.equal(order(controller).length, 5);
    assert.equal(order(controller)[0], chassisOf(first));
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'])
      await set(controller, name, both, { isCordoned: name === first });
    assert.equal(order(controller).length, 5);
    assert.ok(order(controller).includes(chassisOf(first)));
    assert.notEqual(order(controller)[0], chassisOf(first));
    controller.close();
  });

  for (let seed = 1; seed <= 5; seed += 1)
    test(`seed ${seed}: the first changes only if its node is gone or is to give it up; a restart decides the same and writes nothing`, async () => {
      const random = randomOf(seed);
      let controller = await controllerOf(outside());
      const names = ['n1', 'n2', 'n3', 'n4'];
      for (let step = 0; step < 60; step += 1) {
        const [before] = order(controller);
        const name = pick(random, names);
        const labels = pick(random, [both, both, both, { [bridge]: 'true' }]);
        const state = { isReady: random(4) > 0, isCordoned: random(4) === 0 };
        if (random(8) === 0) controller.remove('nodes', name);
        else await set(controller, name, labels, state);
        const holders = order(controller);
        if (random(2) === 0 && holders.length > 0) await hold(controller, pick(random, holders));
        else await controller.settle();
        const nodes = [...controller.cluster.nodes.values()];
        const was = nodes.find((one) => chassisOf(one.name) === before);
        const holder = controller.cluster.gatewayHolders?.get('blue-external')?.chassis;
        const [now] = order(controller);
        const isKept = was?.labels['ovn.kubernetes.io/external-gw'] === 'true' && !was.isCordoned;
        if (isKept && (holder === before || holder === undefined)) assert.equal(now, before);
        if (step % 10 !== 9) continue;
        const orders = new Map([['blue-external', order(controller)]]);
        const held = controller.cluster.gatewayHolders;
        const [wanted, stored] = [priorities(controller), storedIn(controller)];
        controller.close();
        controller = await restarted(stored, orders, held);
        assert.deepEqual(priorities(controller), wanted);
        assert.deepEqual(controller.writes, []);
      }
      controller.close();
    });
});

describe('the holder in statuses', () => {
  test('has a time, which changes with it alone and stays over a restart', async () => {
    const { controller, first, second } = await started();
    const held = (at: TestController): unknown => {
      const { holder, holderSince } = status(at, 'OvnEip/blue-external');
      return [holder, holderSince];
    };
    assert.deepEqual(held(controller), [first, '2026-01-01T00:00:01Z']);
    await hold(controller, chassisOf(second), '2026-01-01T00:00:02Z');
    assert.deepEqual(held(controller), [second, '2026-01-01T00:00:02Z']);
    const [entry] = status(controller, 'Vpc/blue')['externalGateways'] as readonly object[];
    assert.deepEqual(entry, {
      subnet: 'external',
      node: second,
      since: '2026-01-01T00:00:02Z',
      nodes: [second, first],
    });
    const orders = new Map([['blue-external', order(controller)]]);
    const holders = new Map([['blue-external', { chassis: chassisOf(second), since: '2026-01-01T00:00:09Z' }]]);
    for (const known of [holders, undefined]) {
      const next = await restarted(storedIn(controller), orders, known);
      assert.deepEqual(next.writes, []);
      if (known === undefined) {
        // Known at last: no node has the port.
        next.cluster.setGatewayHolders(new Map());
        await next.settle();
        const [gone] = status(next, 'Vpc/blue')['externalGateways'] as readonly object[];
        assert.deepEqual(gone, { subnet: 'external', nodes: [second, first] });
      }
      next.close();
    }
    controller.put('vpcs', made('vpcs', 'blue', {}).raw);
    await controller.settle();
    assert.equal(status(controller, 'Vpc/blue')['externalGateways'], undefined);
    controller.close();
  });

  test('without a holder the port and its rules are not ready; distributed addresses are', async () => {
    const { controller } = await started();
    const ready = (key: string): string => {
      const { conditions } = status(controller, key) as {
        conditions: { type: string; reason: string; status: string }[];
      };
      const is = conditions.find(({ type }) => type === 'Ready');
      return `${is?.status} ${is?.reason}`;
    };
    for (const { kind, raw } of [
      made('ovnEips', 'a', {}),
      made('ovnSnatRules', 'all', { ovnEip: 'a', vpcSubnet: 'inner' }),
    ])
      controller.put(kind, raw);
    await controller.settle();
    assert.equal(ready('OvnSnatRule/all'), 'True OvnSnatRuleReady');
    await hold(controller, undefined);
    assert.equal(ready('OvnSnatRule/all'), 'False GatewayPending');
    assert.equal(status(controller, 'OvnSnatRule/all')['ready'], true, 'its rows are in OVN, and its spec stays fixed');
    assert.equal(ready('OvnEip/blue-external'), 'False GatewayPending');
    assert.equal(status(controller, 'OvnEip/blue-external')['holder'], undefined);
    const orders = new Map([['blue-external', order(controller)]]);
    const next = await restarted(storedIn(controller), orders, undefined);
    assert.deepEqual(next.writes, [], 'while it is not known which node has the port');
    next.close();
    await hold(controller, 'chassis-1');
    assert.equal(ready('OvnSnatRule/all'), 'True OvnSnatRuleReady');
    assert.equal(ready('OvnEip/blue-external'), 'True OvnEipReady');
    controller.close();
  });
});
