import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planKey } from '../../plan/plan.ts';
import { networkOwner } from '../node/network-owner.ts';
import { conditionOf, controllerOf, edit, made, outside, storedIn, type Made } from '../../testing-external.ts';
import type { TestController } from '../../testing-api.ts';

/** The networks outside of `outside`, without a wire. */
function routed(vpc?: object): readonly Made[] {
  return [
    ...outside(vpc).filter(({ raw }) => !['dmz', 'second'].includes(raw.metadata.name)),
    made('providerNetworks', 'net1', { routedByNodes: true }),
  ];
}

function stateOf({ cluster }: TestController, key: string): string {
  const rule = cluster.externalRules.get(key);
  return rule === undefined ? 'unknown' : ((rule.refusal ?? rule.obstacle)?.code ?? 'in force');
}

function noteOf({ objects }: TestController, subnet: string): string | undefined {
  const { annotations = {} } = objects.get(`Subnet/${subnet}`)?.metadata ?? {};
  return annotations['isthmus.network/accepted'];
}

test('rules have their rows as in a network with a wire, and a restart decides the same', async () => {
  const objects = [
    ...routed(),
    made('ovnEips', 'web', {}, 1),
    made('ovnSnatRules', 'web', { ovnEip: 'web', vpcSubnet: 'inner' }, 2),
  ];
  const controller = await controllerOf(objects);
  assert.equal(noteOf(controller, 'external')?.split(' ')[2], 'net1/0/nodes');
  assert.equal(stateOf(controller, 'ovnSnatRules/web'), 'in force');
  const rows = planKey(controller.cluster, 'gateway-port/blue/external').rows;
  assert.deepEqual(
    rows.filter(({ table }) => table === 'Gateway_Chassis').map(({ columns }) => columns['chassis_name']),
    rows.filter(({ table }) => table === 'Gateway_Chassis').map(({ key }) => key.slice('blue-external-'.length)),
  );
  const again = await controllerOf(storedIn(controller));
  assert.equal(noteOf(again, 'external'), noteOf(controller, 'external'));
  assert.deepEqual(planKey(again.cluster, 'gateway-port/blue/external').rows, rows);
  assert.equal(again.cluster.verdicts.get('external')?.problem, undefined);
});

test('what needs a wire is refused: a distributed address, a tag, a router of OVN, a pod, a VpcEgressGateway', async () => {
  const inSubnet = { 'ovn.kubernetes.io/logical_switch': 'external' };
  const pod = (name: string, annotations = {}): Made => ({
    kind: 'pods',
    raw: { metadata: { name, annotations }, spec: { nodeName: 'n1' } },
  });
  const controller = await controllerOf([
    ...routed(),
    made('ovnEips', 'fip', {}, 1),
    made('ovnFips', 'fip', { ovnEip: 'fip', ipName: 'web.default', type: 'distributed' }, 2),
    made('vlans', 'tagged', { id: 7, provider: 'net1' }),
    made('subnets', 'u2o', { cidrBlock: '192.0.2.0/24', vlan: 'lan', gateway: '192.0.2.1', u2oInterconnection: true }),
    made(
      'vpcEgressGateways',
      'out',
      { vpc: 'blue', externalSubnet: 'external', policies: [{ subnets: ['inner'] }] },
      3,
      {
        namespace: 'default',
      },
    ),
    pod('web'),
    pod('lost', inSubnet),
  ]);
  assert.equal(stateOf(controller, 'ovnFips/fip'), 'DistributedNeedsWire');
  await edit(controller, made('ovnFips', 'fip', { ovnEip: 'fip', ipName: 'web.default' }, 2));
  assert.equal(stateOf(controller, 'ovnFips/fip'), 'in force');
  assert.match(conditionOf(controller, 'Vlan/tagged'), /^False VlanNotServed .*use id 0 instead of 7/);
  assert.match(conditionOf(controller, 'Subnet/u2o'), /U2OInvalid .*u2oInterconnection needs a wire/);
  assert.match(
    controller.cluster.addressProblem('pod/default/lost')?.message ?? '',
    /external is for addresses outside/,
  );
  assert.match(
    conditionOf(controller, 'VpcEgressGateway/default/out'),
    /^False NoExternalSubnet .*not announced by BGP/,
  );
});

test('a network that overlaps one of nodes, or one that nodes route to, is refused', async () => {
  const second = made('vlans', 'rack', { id: 0, provider: 'net2' });
  const subnet = (name: string, cidrBlock: string, spec: object = {}): Made =>
    made('subnets', name, { cidrBlock, vpc: 'blue', vlan: 'rack', ...spec }, 3);
  const controller = await controllerOf([
    ...routed(),
    made('providerNetworks', 'net2', { routedByNodes: true }),
    second,
    subnet('nodes', '172.30.0.0/16'),
    subnet('pods', '10.16.8.0/24'),
    subnet('same', '203.0.113.128/25'),
    subnet('free', '198.51.100.0/24'),
  ]);
  assert.match(conditionOf(controller, 'Subnet/nodes'), /CIDROverlap .*172\.30\.1\.\d/);
  assert.match(conditionOf(controller, 'Subnet/pods'), /CIDROverlap .*ovn-default/);
  assert.match(conditionOf(controller, 'Subnet/same'), /CIDROverlap .*external/);
  assert.match(conditionOf(controller, 'Subnet/free'), /^True /);
  // Of another VPC, but nodes route to it: a node that joins must not have an address there.
  assert.equal(networkOwner(controller.cluster, '198.51.100.9'), 'subnet free');
  assert.equal(networkOwner(controller.cluster, '10.0.1.9'), undefined);
});

test('a network with an interface keeps its Subnets when its nodes change', async () => {
  const controller = await controllerOf(outside());
  const before = noteOf(controller, 'external');
  await edit(controller, made('providerNetworks', 'net1', { defaultInterface: 'eth2' }));
  assert.equal(noteOf(controller, 'external'), before);
  assert.match(before ?? '', / net1\/0\/physical /);
});
