import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planKey } from '../../plan/plan.ts';
import { bridge, controllerOf, gateway, made, node, outside, type Made } from '../../testing-external.ts';
import type { TestController } from '../../testing-api.ts';

const key = 'kube-system/ovn-external-gw-config';
const config = (data: Readonly<Record<string, string>>): Made => {
  const { kind } = made('externalConfigs', '', {});
  return { kind, raw: { metadata: { name: 'ovn-external-gw-config', namespace: 'kube-system' }, data } };
};
const enabled = { 'enable-external-gw': 'true', 'external-gw-nodes': 'n3, n4', 'external-gw-addr': '203.0.113.1' };
/** Nodes without the label. */
const others = ['n3', 'n4'].map((name) => node(name, { [bridge]: 'true' }));

function put(controller: TestController, ...objects: readonly Made[]): Promise<void> {
  for (const { kind, raw } of objects) controller.put(kind, raw);
  return controller.settle();
}

function nodesOf({ cluster }: TestController, port: string): readonly string[] | undefined {
  return cluster.gatewayPorts
    .get(port)
    ?.nodes.map(({ node: name }) => name)
    .sort();
}

function vpcSays({ objects }: TestController): string {
  const status = objects.get('Vpc/ovn-cluster')?.['status'] as
    | { conditions?: readonly { type: string; status: string; message: string }[] }
    | undefined;
  const is = status?.conditions?.find(({ type }) => type === 'Validated');
  return `${is?.status} ${is?.message}`;
}

test('the ConfigMap connects the default VPC, by the nodes that it names and by those with the label', async () => {
  const controller = await controllerOf([...outside(), ...others]);
  const port = 'ovn-cluster/external';
  assert.equal(nodesOf(controller, port), undefined);
  await put(controller, config(enabled));
  assert.deepEqual(nodesOf(controller, port), ['n1', 'n2', 'n3', 'n4']);
  assert.equal(planKey(controller.cluster, `gateway-port/${port}`).rows.length, 6);
  // Those of other VPCs need the label.
  assert.deepEqual(nodesOf(controller, 'blue/external'), ['n1', 'n2']);
  assert.match(vpcSays(controller), /^True/);
  for (const one of ['n1', 'n2']) await put(controller, node(one, { [bridge]: 'true' }));
  assert.deepEqual(nodesOf(controller, port), ['n3', 'n4']);
  await put(controller, config({ ...enabled, 'external-gw-nodes': 'n4' }));
  assert.deepEqual(nodesOf(controller, port), ['n4']);
  await put(controller, config({ ...enabled, 'enable-external-gw': 'false' }));
  assert.equal(nodesOf(controller, port), undefined);
  await put(controller, config(enabled));
  controller.remove('externalConfigs', key);
  await controller.settle();
  assert.equal(nodesOf(controller, port), undefined);
  controller.close();
});

test('a Vpc and the ConfigMap say the same', async () => {
  const vpc = made('vpcs', 'ovn-cluster', { enableExternal: true });
  const controller = await controllerOf([...outside(), vpc, config({ 'enable-external-gw': 'false' })]);
  assert.deepEqual(nodesOf(controller, 'ovn-cluster/external'), ['n1', 'n2']);
  controller.close();
});

test('its type is that of OvnFips without one', async () => {
  const fip = (name: string, more: object): Made =>
    made('ovnFips', name, { ovnEip: name, vpc: 'blue', v4Ip: `10.90.0.${name.length + 9}`, ...more }, 2);
  const controller = await controllerOf([
    ...outside(),
    ...['a', 'bb'].map((name) => made('ovnEips', name, {}, 1)),
    fip('a', {}),
    fip('bb', { type: 'centralized' }),
  ]);
  const states = (): readonly string[] =>
    ['a', 'bb'].map((name) => {
      const rule = controller.cluster.externalRules.get(`ovnFips/${name}`);
      return (rule?.refusal ?? rule?.obstacle)?.code ?? 'in force';
    });
  assert.deepEqual(states(), ['in force', 'in force']);
  await put(controller, config({ type: 'distributed' }));
  // An address that no port has is at no node.
  assert.deepEqual(states(), ['DistributedNeedsPort', 'in force']);
  await put(controller, config({ type: 'centralized' }));
  assert.deepEqual(states(), ['in force', 'in force']);
  controller.close();
});

test('what is not served is said by the Vpc, with a remedy', async () => {
  const controller = await controllerOf([...outside(), node('n3', { [gateway]: 'true' })]);
  const says = async (data: Readonly<Record<string, string>>): Promise<string> => {
    await put(controller, config(data));
    return vpcSays(controller);
  };
  assert.match(await says({ ...enabled, 'external-gw-nic': 'eth1' }), /^True/);
  assert.match(await says({ 'enable-external-gw': 'yes' }), /^False .*enable-external-gw: yes is no setting/);
  assert.match(await says({ type: 'local' }), /type: local is no setting/);
  assert.ok((await says({ type: 'x'.repeat(100_000) })).length < 1000, 'a status has a limit');
  assert.match(await says({ ...enabled, 'external-gw-switch': 'external' }), /^True/);
  assert.match(await says({ ...enabled, 'external-gw-switch': 'other' }), /external-gw-switch: other is no setting/);
  // Kube-OVN takes prefix lengths, and both families in one text.
  assert.match(await says({ ...enabled, 'external-gw-addr': '203.0.113.1/24, 2001:db8::1/64' }), /^True/);
  assert.match(await says({ ...enabled, 'external-gw-addr': '203.0.113.7/24' }), /external-gw-addr is 203\.0\.113\.7,/);
  assert.match(await says({ ...enabled, 'external-gw-vlan': '7' }), /external-gw-vlan is no setting/);
  assert.match(
    await says({ ...enabled, 'external-gw-addr': '203.0.113.254' }),
    /external-gw-addr is 203\.0\.113\.254, but the gateway of Subnet external is 203\.0\.113\.1/,
  );
  const { v4 = '', mac = '' } = controller.cluster.allocation('eip/ovn-cluster-external') ?? {};
  assert.match(await says({ ...enabled, 'nic-ip': `${v4}/24`, 'nic-mac': mac.toUpperCase() }), /^True/);
  assert.match(
    await says({ ...enabled, 'nic-ip': '203.0.113.99/24' }),
    /nic-ip is 203\.0\.113\.99, but the router has/,
  );
  assert.match(await says({ ...enabled, 'nic-mac': '0a:00:00:00:00:01' }), /nic-mac is .*create OvnEip/);
  controller.close();
});
