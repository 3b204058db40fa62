import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { controllerOf, gateway, made, node, outside } from '../testing-external.ts';
import { openExternalMetrics } from './external-metrics.ts';

test('addresses and rules are counted by state, and nodes by port', async () => {
  const controller = await controllerOf([
    ...outside(),
    made('ovnEips', 'a', {}, 1),
    made('ovnEips', 'idle', {}, 1),
    made('ovnEips', 'gone', { externalSubnet: 'second-hand' }, 1),
    made('ovnSnatRules', 'first', { ovnEip: 'a', vpcSubnet: 'inner' }, 2),
    made('ovnSnatRules', 'second', { ovnEip: 'a', vpcSubnet: 'inner' }, 3),
    made('ovnFips', 'early', { ovnEip: 'idle-not', ipName: 'web.default' }, 3),
  ]);
  const registry = new Registry();
  openExternalMetrics(registry, controller.cluster);
  const lines = async (name: string): Promise<readonly string[]> =>
    (await registry.getSingleMetricAsString(`isthmus_controller_${name}`))
      .split('\n')
      .filter((line) => line.includes('{') && !line.endsWith(' 0'))
      .map((line) => line.slice(line.indexOf('{')));
  assert.deepEqual(await lines('eips'), [
    '{kind="OvnEip",subnet="external",state="used"} 2',
    '{kind="OvnEip",subnet="external",state="unused"} 1',
    '{kind="OvnEip",subnet="second-hand",state="waiting"} 1',
  ]);
  assert.deepEqual(await lines('external_rules'), [
    '{kind="OvnFip",state="waiting"} 1',
    '{kind="OvnSnatRule",state="in-force"} 1',
    '{kind="OvnSnatRule",state="refused"} 1',
  ]);
  assert.deepEqual(await lines('gateway_port_nodes'), ['{vpc="blue",subnet="external"} 2']);
  for (const name of ['n1', 'n2']) {
    const { kind, raw } = node(name, { [gateway]: 'true' });
    controller.put(kind, raw);
  }
  await controller.settle();
  // An alert sees the port, with no node.
  const text = await registry.getSingleMetricAsString('isthmus_controller_gateway_port_nodes');
  assert.match(text, /\{vpc="blue",subnet="external"\} 0/);
  controller.close();
});
