import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExternalRule } from '../../model/settled.ts';
import { planKey } from '../../plan/plan.ts';
import {
  both,
  bridge,
  controllerOf,
  gateway,
  made,
  node,
  outside,
  storedIn,
  type Made,
} from '../../testing-external.ts';
import type { TestController } from '../../testing-api.ts';
import { cidrContains, parseCidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';

const eip = (name: string, spec: object = {}, seconds = 1): Made => made('ovnEips', name, spec, seconds);
const fip = (name: string, spec: object, seconds = 2): Made => made('ovnFips', name, spec, seconds);
const snat = (name: string, spec: object, seconds = 2): Made => made('ovnSnatRules', name, spec, seconds);
const dnat = (name: string, spec: object, seconds = 2): Made =>
  made('ovnDnatRules', name, { internalPort: '80', externalPort: '80', protocol: 'tcp', ...spec }, seconds);

function put(controller: TestController, ...objects: readonly Made[]): Promise<void> {
  for (const { kind, raw } of objects) controller.put(kind, raw);
  return controller.settle();
}

/** `in force`, or the reason why it is not. */
function stateOf({ cluster }: TestController, key: string): string {
  const rule: ExternalRule | undefined = cluster.externalRules.get(key);
  if (rule === undefined) return 'unknown';
  return (rule.refusal ?? rule.obstacle)?.code ?? 'in force';
}

function ready(controller: TestController, key: string): string {
  const status = controller.objects.get(key)?.['status'] as
    | { readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[] }
    | undefined;
  const is = status?.conditions?.find(({ type }) => type === 'Ready');
  return `${is?.status} ${is?.reason} ${is?.message}`;
}

/** Rows of a table that a key plans, by key, with a column. */
function column(
  { cluster }: TestController,
  key: string,
  table: string,
  name: string,
): Readonly<Record<string, unknown>> {
  const rows = planKey(cluster, key).rows.filter((row) => row.table === table);
  return Object.fromEntries(rows.map((row) => [row.key, row.columns[name]]));
}

const port = 'gateway-port/blue/external';

describe('gateway ports', () => {
  test('nodes come and go as rows of their own; the port stays until none is left', async () => {
    const controller = await controllerOf(outside());
    const chassis = (): readonly string[] => Object.keys(column(controller, port, 'Gateway_Chassis', 'priority'));
    const first = planKey(controller.cluster, port).rows.find(({ table }) => table === 'Logical_Router_Port');
    const order = chassis();
    assert.deepEqual(order.toSorted(), ['blue-external-chassis-1', 'blue-external-chassis-2']);
    await put(controller, node('n3', both), node('n4', { [gateway]: 'true' }), node('n5', { [bridge]: 'true' }));
    assert.deepEqual(
      chassis().filter((one) => order.includes(one)),
      order,
    );
    assert.equal(chassis().length, 3);
    await put(controller, node('n1', { [bridge]: 'true' }), node('n3', { [bridge]: 'true' }));
    const last = planKey(controller.cluster, port).rows.find(({ table }) => table === 'Logical_Router_Port');
    assert.deepEqual({ ...last?.columns, gateway_chassis: 0 }, { ...first?.columns, gateway_chassis: 0 });
    assert.deepEqual(chassis(), ['blue-external-chassis-2']);
    await put(controller, eip('a'), snat('all', { ovnEip: 'a', vpcSubnet: 'inner' }));
    assert.equal(stateOf(controller, 'ovnSnatRules/all'), 'in force');
    const together = planKey(controller.cluster, 'ovn-snat-rule/all').together;
    assert.equal(together, planKey(controller.cluster, port).together);
    await put(controller, node('n2', { [gateway]: 'true' }));
    assert.deepEqual(planKey(controller.cluster, port).rows, []);
    assert.deepEqual(planKey(controller.cluster, 'external-exit/blue').rows, []);
    assert.equal(stateOf(controller, 'ovnSnatRules/all'), 'NoGatewayNode');
    assert.match(ready(controller, 'Vpc/blue'), /^False NoGatewayNode no node can hold .*external-gw=true/);
    controller.close();
  });

  test('the address of the router is an OvnEip, which stays over a restart and goes with the port', async () => {
    const controller = await controllerOf(outside());
    const spec = controller.objects.get('OvnEip/blue-external')?.['spec'] as { v4Ip: string; type: string };
    assert.equal(spec.type, 'lrp');
    const [network] = Object.values(column(controller, port, 'Logical_Router_Port', 'networks'));
    assert.deepEqual(network, [`${spec.v4Ip}/24`]);
    await put(controller, made('vpcs', 'blue', {}));
    assert.equal(controller.objects.get('OvnEip/blue-external'), undefined);
    assert.deepEqual([...(controller.cluster.pool('external')?.allocations().keys() ?? [])], []);
    controller.close();
  });

  test('a rule leads packets past a default route of the user in a table of their own, but not past his other routes', async () => {
    const routed = (routeTable: string): Made =>
      made('subnets', 'inner', { vpc: 'blue', cidrBlock: '10.90.0.0/24', namespaces: ['default'], routeTable });
    const staticRoutes = [
      { cidr: '0.0.0.0/0', nextHopIP: '10.90.0.99', routeTable: 't' },
      { cidr: '192.0.2.0/24', nextHopIP: '10.90.0.98', routeTable: 't' },
      { cidr: '198.18.0.0/15', nextHopIP: '10.99.0.1', routeTable: 't' },
    ];
    const controller = await controllerOf([
      ...outside({ enableExternal: true, staticRoutes }),
      eip('a'),
      snat('all', { ovnEip: 'a', vpcSubnet: 'inner' }),
      snat('one', { ovnEip: 'a', vpc: 'blue', v4IpCidr: '10.91.0.7' }),
    ]);
    const policies = (rule: string): readonly unknown[] =>
      Object.values(column(controller, `ovn-snat-rule/${rule}`, 'Logical_Router_Policy', 'action'));
    assert.deepEqual(policies('all'), []);
    await put(controller, routed('t'));
    assert.deepEqual(policies('all'), ['reroute', 'allow']);
    assert.deepEqual(policies('one'), [], 'no packets of it are in that table');
    const sets = column(controller, 'external-exit/blue', 'Address_Set', 'addresses');
    const beyond = (sets['blue_beyond_external.ip4'] as readonly string[]).flatMap((text) => parseCidr(text) ?? []);
    const isBeyond = (text: string): boolean => {
      const ip = parseIp(text);
      return ip !== undefined && beyond.some((cidr) => cidrContains(cidr, ip));
    };
    assert.ok(!isBeyond('192.0.2.7'), 'packets to it follow the route of the user');
    assert.ok(isBeyond('198.18.0.7'), 'nothing leads there');
    assert.ok(!isBeyond('203.0.113.7'), 'hosts of the network outside are reached without its gateway');
    await put(controller, routed(''));
    assert.deepEqual(policies('all'), []);
    controller.close();
  });

  test('a rule waits while the router has no address outside: its translation would be one of every port', async () => {
    const few = made('subnets', 'external', { cidrBlock: '203.0.113.0/30', gateway: '203.0.113.1', vlan: 'lan' });
    const objects = outside().map((one) => (one.raw.metadata.name === 'external' ? few : one));
    const controller = await controllerOf([...objects.filter(({ kind }) => kind !== 'vpcs'), eip('a', {}, 0)]);
    await put(
      controller,
      ...objects.filter(({ kind }) => kind === 'vpcs'),
      snat('all', { ovnEip: 'a', vpcSubnet: 'inner' }),
    );
    assert.deepEqual(column(controller, port, 'Logical_Router_Port', 'networks'), {});
    assert.equal(stateOf(controller, 'ovnSnatRules/all'), 'NoRouterAddress');
    assert.deepEqual(planKey(controller.cluster, 'ovn-snat-rule/all').rows, []);
    const more = made('subnets', 'external', { cidrBlock: '203.0.113.0/24', gateway: '203.0.113.1', vlan: 'lan' });
    await put(controller, more);
    assert.equal(Object.keys(column(controller, port, 'Logical_Router_Port', 'networks')).length, 1);
    assert.equal(stateOf(controller, 'ovnSnatRules/all'), 'in force');
    controller.close();
  });

  test('a rule is translated in the families that its router has outside', async () => {
    const gateways = '203.0.113.1,2001:db8:113::1';
    const dual = { cidrBlock: '203.0.113.0/24,2001:db8:113::/64', gateway: gateways, vlan: 'lan' };
    const inner = { vpc: 'blue', cidrBlock: '10.90.0.0/24,fd00:90::/112', namespaces: ['default'] };
    const objects = outside().map((one) => {
      const { name } = one.raw.metadata;
      if (name === 'external') return made('subnets', name, dual);
      return name === 'inner' ? made('subnets', name, inner) : one;
    });
    const controller = await controllerOf([
      ...objects,
      eip('blue-external', { type: 'lrp', v4Ip: '203.0.113.9' }, 0),
      eip('a'),
      eip('six', { v6Ip: '2001:db8:113::9' }),
      snat('all', { ovnEip: 'a', vpcSubnet: 'inner' }),
      snat('none', { ovnEip: 'six', vpcSubnet: 'inner' }),
    ]);
    assert.deepEqual(column(controller, 'ovn-snat-rule/all', 'NAT', 'type'), { 'snat/all/ipv4': 'snat' });
    assert.equal(stateOf(controller, 'ovnSnatRules/none'), 'FamilyMismatch');
    controller.close();
  });

  test('an OvnEip of the name chooses the address; one of type nat is in the way', async () => {
    const chosen = await controllerOf([
      ...outside(),
      eip('blue-external', { externalSubnet: 'external', type: 'lrp', v4Ip: '203.0.113.77' }),
    ]);
    assert.deepEqual(column(chosen, port, 'Logical_Router_Port', 'networks'), { 'blue-external': ['203.0.113.77/24'] });
    // What the user made is not deleted, whatever becomes of the port.
    await put(chosen, made('vpcs', 'blue', {}));
    assert.match(ready(chosen, 'OvnEip/blue-external'), /^False NoGatewayPort spec.type lrp: no Vpc has a port/);
    await put(chosen, made('vpcs', 'blue', { enableExternal: true }));
    assert.match(ready(chosen, 'OvnEip/blue-external'), /^True /);
    chosen.close();
    const blocked = await controllerOf([...outside(), eip('blue-external')]);
    assert.match(ready(blocked, 'Vpc/blue'), /^False NameConflict OvnEip blue-external is of type nat/);
    blocked.remove('ovnEips', 'blue-external');
    await blocked.settle();
    assert.match(ready(blocked, 'Vpc/blue'), /^True /);
    blocked.close();
  });

  test('a Subnet that is not outside is refused by name, and a default route of the user stays the only one', async () => {
    const controller = await controllerOf(outside({ enableExternal: true, extraExternalSubnets: ['inner', 'gone'] }));
    assert.match(
      ready(controller, 'Vpc/blue'),
      /Subnet inner is not outside: it is in no VLAN.*Subnet gone does not exist/,
    );
    assert.equal(
      Object.keys(column(controller, 'external-exit/blue', 'Logical_Router_Static_Route', 'nexthop')).length,
      1,
    );
    const route = { cidr: '0.0.0.0/0', nextHopIP: '203.0.113.9' };
    await put(controller, made('vpcs', 'blue', { enableExternal: true, staticRoutes: [route] }));
    assert.match(ready(controller, 'Vpc/blue'), /^True /);
    assert.deepEqual(column(controller, 'external-exit/blue', 'Logical_Router_Static_Route', 'nexthop'), {});
    await put(controller, made('vpcs', 'blue', { extraExternalSubnets: ['second'] }));
    assert.match(ready(controller, 'Vpc/blue'), /^False ExternalDisabled/);
    controller.close();
  });
});

describe('rules', () => {
  test('a distributed address waits for the bridge on the node of the pod, and follows the pod', async () => {
    const controller = await controllerOf([...outside(), node('n3', {})]);
    const pod = (nodeName: string): Made => ({ kind: 'pods', raw: { metadata: { name: 'web' }, spec: { nodeName } } });
    const spec = { ovnEip: 'a', ipName: 'web.default', type: 'distributed' };
    await put(controller, eip('a'), fip('web', spec));
    assert.equal(stateOf(controller, 'ovnFips/web'), 'IpNotFound');
    await put(controller, pod('n3'));
    assert.equal(stateOf(controller, 'ovnFips/web'), 'NoBridgeOnNode');
    assert.match(ready(controller, 'OvnFip/web'), /^False NoBridgeOnNode node n3 .*use type centralized/);
    await put(controller, node('n3', { [bridge]: 'true' }));
    const mac = controller.cluster.allocation('eip/a')?.mac;
    assert.deepEqual(column(controller, 'ovn-fip/web', 'NAT', 'logical_port'), { 'fip/web/ipv4': 'web.default' });
    assert.deepEqual(column(controller, 'ovn-fip/web', 'NAT', 'external_mac'), { 'fip/web/ipv4': mac });
    controller.remove('pods', 'default/web');
    await controller.settle();
    assert.deepEqual(planKey(controller.cluster, 'ovn-fip/web').rows, []);
    await put(controller, fip('web', { ...spec, type: '' }), pod('n1'));
    assert.deepEqual(column(controller, 'ovn-fip/web', 'NAT', 'logical_port'), { 'fip/web/ipv4': null });
    controller.close();
  });

  test('a pod with a published port has no distributed address: its packets take one of the two ways', async () => {
    const pod: Made = { kind: 'pods', raw: { metadata: { name: 'web' }, spec: { nodeName: 'n2' } } };
    const spec = { ovnEip: 'b', ipName: 'web.default' };
    const controller = await controllerOf([...outside(), pod, eip('a'), eip('b')]);
    await put(
      controller,
      dnat('web', { ovnEip: 'a', ipName: 'web.default' }),
      fip('web', { ...spec, type: 'distributed' }, 3),
    );
    assert.equal(stateOf(controller, 'ovnFips/web'), 'PinnedElsewhere');
    assert.match(
      ready(controller, 'OvnFip/web'),
      /the way of packets from .*is in use by OvnDnatRule web.*use type centralized/,
    );
    await put(controller, fip('web', spec, 3));
    assert.equal(stateOf(controller, 'ovnFips/web'), 'in force');
    controller.remove('ovnDnatRules', 'web');
    await put(controller, fip('web', { ...spec, type: 'distributed' }, 3));
    assert.equal(stateOf(controller, 'ovnFips/web'), 'in force');
    controller.close();
  });

  test('an OvnEip in use cannot go, and says whose it is', async () => {
    const controller = await controllerOf([...outside(), eip('a'), snat('all', { ovnEip: 'a', vpcSubnet: 'inner' })]);
    const object = controller.objects.get('OvnEip/a');
    assert.deepEqual(object?.metadata.finalizers, ['isthmus.network/controller']);
    const metadata = { ...object.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' };
    controller.put('ovnEips', { ...object, metadata });
    await controller.settle();
    assert.match(ready(controller, 'OvnEip/a'), /^False Deleting waits for the deletion of OvnSnatRule all/);
    assert.equal(stateOf(controller, 'ovnSnatRules/all'), 'in force');
    const restarted = await controllerOf(storedIn(controller));
    assert.deepEqual(restarted.writes, []);
    assert.deepEqual(restarted.cluster.externalRules, controller.cluster.externalRules);
    restarted.close();
    controller.remove('ovnSnatRules', 'all');
    await controller.settle();
    assert.equal(controller.objects.get('OvnEip/a'), undefined);
    assert.equal(controller.cluster.allocation('eip/a'), undefined);
    controller.close();
  });

  const inside = { vpc: 'blue', v4Ip: '10.90.0.9' };
  const cases: readonly (readonly [what: string, rule: Made, code: string])[] = [
    ['an unknown OvnEip', fip('x', { ovnEip: 'b', ...inside }), 'EipNotFound'],
    ['an OvnEip of a router for a floating address', fip('x', { ovnEip: 'blue-external', ...inside }), 'EipNotNat'],
    [
      'a Vip for a distributed address',
      fip('x', { ovnEip: 'a', ...inside, type: 'distributed' }),
      'DistributedNeedsPort',
    ],
    ['another family inside', fip('x', { ovnEip: 'a', vpc: 'blue', v6Ip: 'fd00::9' }), 'FamilyMismatch'],
    ['a VPC that does not exist', fip('x', { ovnEip: 'a', vpc: 'red', v4Ip: '10.9.0.1' }), 'VpcNotFound'],
    ['a VPC without a port', fip('x', { ovnEip: 'a', vpc: 'ovn-cluster', v4Ip: '10.16.0.9' }), 'NoExternalSubnet'],
    ['an address that is none', fip('x', { ovnEip: 'a', vpc: 'blue', v4Ip: '10.90.0.900' }), 'InvalidAddress'],
    ['neither address nor object', dnat('x', { ovnEip: 'a' }), 'InsideMissing'],
    ['two sources', snat('x', { ovnEip: 'a', vpcSubnet: 'inner', ipName: 'web.default' }), 'SourceAmbiguous'],
    ['a Subnet with a physical gateway', snat('x', { ovnEip: 'a', vpcSubnet: 'second' }), 'NotRouted'],
    ['a Subnet of another VPC', snat('x', { ovnEip: 'a', vpcSubnet: 'inner', vpc: 'ovn-cluster' }), 'VpcMismatch'],
    ['a Subnet that is missing', snat('x', { ovnEip: 'a', vpcSubnet: 'gone' }), 'SubnetNotReady'],
  ];
  for (const [what, rule, code] of cases)
    test(`${what} is refused, with an event`, async () => {
      const controller = await controllerOf([...outside(), eip('a')]);
      await put(controller, rule);
      assert.equal(stateOf(controller, `${rule.kind}/x`), code);
      assert.ok(controller.events.some((event) => event.startsWith('Warning Ovn') && event.includes(`${code}: `)));
      controller.close();
    });

  test('several Subnets outside: each rule has the way of its own, and ports need a newer OVN', async () => {
    const vpc = { enableExternal: true, extraExternalSubnets: ['second'] };
    const objects = [
      ...outside(vpc),
      eip('a', { externalSubnet: 'second' }),
      snat('some', { ovnEip: 'a', vpc: 'blue', v4IpCidr: '10.90.0.64/26' }),
      dnat('web', { ovnEip: 'a', ...inside }),
    ];
    for (const severalGateways of [false, true]) {
      const able = { aclTier: false, ipv6Selection: false, loadBalancers: true, severalGateways };
      const controller = await controllerOf(objects, able);
      assert.deepEqual(column(controller, 'ovn-snat-rule/some', 'Logical_Router_Policy', 'match'), {
        'snat/some/ipv4': 'ip4.src == 10.90.0.64/26 && ip4.dst == $blue_beyond_second.ip4',
        'snat/some/ipv4/near': 'ip4.src == 10.90.0.64/26 && ip4.dst == 198.51.100.0/24',
      });
      assert.equal(stateOf(controller, 'ovnDnatRules/web'), severalGateways ? 'in force' : 'DnatSingleGateway');
      assert.equal(planKey(controller.cluster, 'ovn-eip/a').rows.length, severalGateways ? 1 : 0);
      controller.close();
    }
  });
});

describe('rules that wait', () => {
  const pod = (name: string): Made => ({ kind: 'pods', raw: { metadata: { name }, spec: { nodeName: 'n1' } } });
  const older = fip('older', { ovnEip: 'a', ipName: 'web.default' }, 2);
  const newer = fip('newer', { ovnEip: 'a', ipName: 'db.default' }, 9);

  test('keep their OvnEip while the pod of their address is away', async () => {
    const controller = await controllerOf([...outside(), pod('web'), pod('db'), eip('a'), older]);
    controller.remove('pods', 'default/web');
    await put(controller, newer);
    assert.deepEqual(
      ['ovnFips/older', 'ovnFips/newer'].map((key) => stateOf(controller, key)),
      ['IpNotFound', 'AddressInUse'],
    );
    await put(controller, pod('web'));
    assert.deepEqual(
      ['ovnFips/older', 'ovnFips/newer'].map((key) => stateOf(controller, key)),
      ['in force', 'AddressInUse'],
    );
    controller.close();
  });

  test('share an OvnEip with rules of a VPC, and not with an OvnFip', async () => {
    const waiting = snat('waiting', { ovnEip: 'a', ipName: 'web.default' }, 2);
    const controller = await controllerOf([...outside(), pod('db'), eip('a'), waiting]);
    await put(controller, snat('placed', { ovnEip: 'a', vpcSubnet: 'inner' }, 8), newer);
    assert.deepEqual(
      ['ovnSnatRules/waiting', 'ovnSnatRules/placed', 'ovnFips/newer'].map((key) => stateOf(controller, key)),
      ['IpNotFound', 'in force', 'AddressInUse'],
    );
    controller.close();
  });

  test('keep an OvnEip that is being deleted', async () => {
    const controller = await controllerOf([...outside(), pod('web'), eip('a'), older]);
    const stored = controller.objects.get('OvnEip/a');
    assert.ok(stored !== undefined);
    controller.put('ovnEips', {
      ...stored,
      metadata: { ...stored.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' },
    });
    await controller.settle();
    controller.remove('pods', 'default/web');
    await controller.settle();
    assert.ok(controller.objects.has('OvnEip/a'));
    controller.remove('ovnFips', 'older');
    await controller.settle();
    assert.ok(!controller.objects.has('OvnEip/a'));
    controller.close();
  });
});

test('an OvnEip that chooses the address of a router may leave out the default Subnet', async () => {
  const chosen = eip('blue-external', { type: 'lrp', v4Ip: '203.0.113.77' });
  const controller = await controllerOf([...outside(), chosen]);
  assert.doesNotMatch(ready(controller, 'Vpc/blue'), /NameConflict/);
  controller.close();
});
