import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Operation } from 'ovsdb-client';
import { schemaFile, startOvsdbServer } from '../../lib/ovsdb/src/testing.ts';
import { routerSwitchPort, switchRouterPort } from '../../lib/api/names.ts';
import { growthOf } from '../../lib/testing-growth.ts';
import { type Northbound, openNorthbound } from './northbound.ts';

const router = 'ovn-cluster';

/** A database with so many switches, each with a port of the router. */
async function openWith(context: TestContext, count: number): Promise<Northbound> {
  const server = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  context.after(() => server.stop());
  const northbound = await openNorthbound({ remotes: [server.remote] });
  context.after(() => northbound.client.close());
  const operations = Array.from({ length: count }, (_, at): readonly Operation[] => {
    const [name, port] = [`subnet-${at}`, `port${at}`];
    const options = { 'router-port': routerSwitchPort(router, name) };
    const row = { name: switchRouterPort(name, router), type: 'router', options };
    const mac = `02:00:00:00:${(at >> 8).toString(16).padStart(2, '0')}:${(at & 255).toString(16).padStart(2, '0')}`;
    return [
      { op: 'insert', table: 'Logical_Switch_Port', uuidName: port, row },
      { op: 'insert', table: 'Logical_Switch', row: { name, ports: [{ named: port }] } },
      {
        op: 'insert',
        table: 'Logical_Router_Port',
        uuidName: `router${at}`,
        row: { name: routerSwitchPort(router, name), mac, networks: '10.16.0.1/24' },
      },
    ];
  });
  const ports = operations.map((_, at) => ({ named: `router${at}` }));
  const insert = { op: 'insert', table: 'Logical_Router', row: { name: router, ports } } as const;
  await northbound.client.transact([...operations.flat(), insert]);
  return northbound;
}

test("a router's port finds its switch at a cost that does not grow with the number of switches", async (context) => {
  const [few, many] = [50, 3000];
  const [small, large] = [await openWith(context, few), await openWith(context, many)];
  const look = (northbound: Northbound, count: number): void => {
    const found = new Map<string, string>();
    northbound.followForeignPorts((port, foreign) => found.set(port, foreign?.subnet ?? ''));
    assert.equal(found.size, count);
    for (const [port, subnet] of found) assert.equal(port, switchRouterPort(subnet, router));
  };
  const growth = await growthOf({
    small: () => {
      for (let ports = 0; ports < many; ports += few) look(small, few);
    },
    large: () => {
      for (let ports = 0; ports < many; ports += many) look(large, many);
    },
  });
  context.diagnostic(`a port among ${many} switches takes ${growth.toFixed(2)} times one among ${few}`);
  // A look at all switches would be many times as much.
  assert.ok(growth < 4, `${growth} times`);
});
