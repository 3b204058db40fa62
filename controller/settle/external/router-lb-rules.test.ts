import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planKey } from '../../plan/plan.ts';
import {
  conditionOf,
  controllerOf,
  edit,
  made,
  outside,
  shuffled,
  storedIn,
  type Made,
} from '../../testing-external.ts';
import type { TestController } from '../../testing-api.ts';

const eip = (name: string, spec: object = {}): Made =>
  made('ovnEips', name, { externalSubnet: 'external', ...spec }, 2);
const ports = [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }];
const rlr = (name: string, spec: object = {}, seconds = 3, more: object = {}): Made =>
  made('routerLbRules', name, { ovnEip: 'e', vpc: 'blue', namespace: 'default', ports, ...spec }, seconds, more);
const listed = { endpoints: ['10.90.0.50', '10.90.0.51'] };
const web = made('vips', 'one', { subnet: 'inner', v4ip: '10.90.0.50' }, 1);

interface Status {
  readonly v4Eip?: string;
  readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
}

/** Virtual addresses with backends, of the load balancers that a rule plans. */
function vips({ cluster }: TestController, name: string): readonly string[] {
  return planKey(cluster, `router-lb-rule/${name}`)
    .rows.filter(({ table }) => table === 'Load_Balancer')
    .flatMap(({ columns }) =>
      Object.entries(columns['vips'] as Readonly<Record<string, string>>).map(([vip, to]) => `${vip} ${to}`),
    );
}

const base: readonly Made[] = [...outside(), eip('e', { v4Ip: '203.0.113.50' })];

describe('a RouterLBRule', () => {
  test('is load balancers of the router at the addresses of its OvnEip, with a Service', async () => {
    const controller = await controllerOf([...base, rlr('web', listed)]);
    assert.deepEqual(vips(controller, 'web'), ['203.0.113.50:80 10.90.0.50:8080,10.90.0.51:8080']);
    const { contributions = [], together } = planKey(controller.cluster, 'router-lb-rule/web');
    assert.deepEqual(
      contributions.map(({ table, key, column }) => `${table} ${key} ${column}`),
      ['Logical_Router blue load_balancer'],
    );
    assert.equal(together, 'gateway-port/blue/external');
    assert.match(conditionOf(controller, 'RouterLBRule/web'), /^True RuleReady/);
    const status: Status = controller.objects.get('RouterLBRule/web')?.['status'] ?? {};
    assert.equal(status.v4Eip, '203.0.113.50');
    const { metadata } = controller.objects.get('Service/default/rlr-web') ?? {};
    assert.deepEqual(metadata?.annotations, { 'ovn.kubernetes.io/router_lb_vip': '203.0.113.50' });
    assert.deepEqual(metadata.labels, { 'isthmus.network/router-lb-rule': 'web' });
    const again = await controllerOf(shuffled(storedIn(controller), 5));
    assert.deepEqual(again.writes, []);
    controller.remove('routerLbRules', 'web');
    await controller.settle();
    assert.deepEqual(vips(controller, 'web'), []);
    assert.equal(controller.objects.has('Service/default/rlr-web'), false);
  });

  test('has its ports alone, among rules of both kinds; the one that had them stays', async () => {
    const dnat = made(
      'ovnDnatRules',
      'd',
      { ovnEip: 'e', vpc: 'blue', v4Ip: '10.90.0.9', externalPort: '80', internalPort: '80', protocol: 'tcp' },
      9,
    );
    const controller = await controllerOf([...base, dnat, rlr('other', { ...listed, ports: [{ port: 81 }] }, 1)]);
    await edit(controller, rlr('web', listed, 1));
    assert.match(
      conditionOf(controller, 'RouterLBRule/web', 'Validated'),
      /^False PortInUse port 80\/tcp of OvnEip e is in use by OvnDnatRule d/,
    );
    assert.deepEqual(vips(controller, 'web'), []);
    assert.equal(vips(controller, 'other').length, 1);
    const again = await controllerOf(shuffled(storedIn(controller), 7));
    assert.deepEqual(again.writes, []);
    again.remove('ovnDnatRules', 'd');
    await again.settle();
    assert.equal(vips(again, 'web').length, 1);
    const fip = made('ovnFips', 'f', { ovnEip: 'e', vpc: 'blue', v4Ip: '10.90.0.9' }, 1);
    await edit(again, fip);
    assert.match(conditionOf(again, 'OvnFip/f', 'Validated'), /^False AddressInUse/);
  });

  test('waits for its OvnEip, its Vpc and the port of the router', async () => {
    const controller = await controllerOf([
      ...outside({}),
      rlr('web', listed),
      rlr('far', { ...listed, vpc: 'gone', ovnEip: 'x' }),
    ]);
    assert.match(conditionOf(controller, 'RouterLBRule/web'), /^False EipNotFound/);
    await edit(controller, eip('e'), eip('x'));
    assert.match(conditionOf(controller, 'RouterLBRule/web'), /^False NoExternalSubnet/);
    assert.match(conditionOf(controller, 'RouterLBRule/far'), /^False VpcNotFound/);
    await edit(controller, made('vpcs', 'blue', { enableExternal: true }));
    assert.equal(vips(controller, 'web').length, 1);
  });

  test('keeps its ports while its namespace is gone', async () => {
    const late = made('namespaces', 'late', {});
    const controller = await controllerOf([...base, late, rlr('web', { ...listed, namespace: 'late' }, 1)]);
    controller.remove('namespaces', 'late');
    await controller.settle();
    assert.match(conditionOf(controller, 'RouterLBRule/web', 'Validated'), /^False NamespaceNotFound/);
    const other = rlr('other', listed, 2);
    await edit(controller, other);
    assert.match(
      conditionOf(controller, 'RouterLBRule/other', 'Validated'),
      /^False PortInUse port 80\/tcp of OvnEip e is in use by RouterLBRule web/,
    );
    const again = await controllerOf(shuffled(storedIn(controller), 4));
    assert.deepEqual(again.writes, []);
    await edit(again, late);
    assert.equal(vips(again, 'web').length, 1);
    assert.deepEqual(vips(again, 'other'), []);
  });

  test('leaves out a backend that another rule needs, and stays; a new rule takes no backend', async () => {
    const at = (name: string, ip: string, vpc: object = {}): Made =>
      made(
        'ovnDnatRules',
        name,
        { ovnEip: 's', vpc: 'blue', v4Ip: ip, externalPort: '80', internalPort: '8080', protocol: 'tcp', ...vpc },
        9,
      );
    const both = { enableExternal: true, extraExternalSubnets: ['second'] };
    const controller = await controllerOf(
      [
        ...outside(both),
        eip('e'),
        eip('s', { externalSubnet: 'second' }),
        web,
        at('d', '10.90.0.50'),
        rlr('web', { endpoints: ['10.90.0.51'] }, 1),
      ],
      { aclTier: false, ipv6Selection: false, loadBalancers: true, severalGateways: true },
    );
    assert.match(vips(controller, 'web').join(), / 10\.90\.0\.51:8080$/);
    // The rule gets the backend of another one by an edit, as by a label of a pod.
    await edit(controller, rlr('web', listed, 1));
    assert.match(vips(controller, 'web').join(), / 10\.90\.0\.51:8080$/);
    assert.match(
      conditionOf(controller, 'RouterLBRule/web'),
      /^True RuleReady backends that get no connections: 10\.90\.0\.50 \(.*OvnDnatRule d/,
    );
    assert.match(conditionOf(controller, 'OvnDnatRule/d'), /^True/);
    await edit(controller, at('late', '10.90.0.51', { externalPort: '81' }));
    assert.match(conditionOf(controller, 'OvnDnatRule/late', 'Validated'), /^False PinnedElsewhere .*RouterLBRule web/);
    const again = await controllerOf(shuffled(storedIn(controller), 9), {
      aclTier: false,
      ipv6Selection: false,
      loadBalancers: true,
      severalGateways: true,
    });
    assert.deepEqual(again.writes, []);
    // Replies of its own backend leave by its Subnet.
    const policies = planKey(controller.cluster, 'router-lb-rule/web').rows.filter(
      ({ table }) => table === 'Logical_Router_Policy',
    );
    assert.match(String(policies[0]?.columns['match']), /^ip4\.src == 10\.90\.0\.51 && tcp\.src == 8080 && /);
  });

  test('on a router with several ports outside needs a newer OVN', async () => {
    const both = { enableExternal: true, extraExternalSubnets: ['second'] };
    const controller = await controllerOf([...outside(both), eip('e'), rlr('web', listed)]);
    assert.match(conditionOf(controller, 'RouterLBRule/web'), /^False DnatSingleGateway/);
    assert.deepEqual(vips(controller, 'web'), []);
  });

  test('with a wrong spec is refused', async () => {
    const controller = await controllerOf([
      ...base,
      rlr('a', { ...listed, ports: [] }),
      rlr('b', { endpoints: ['here'] }),
      rlr('c', {}),
      rlr('d', { ...listed, namespace: 'gone' }),
      rlr('f', { ...listed, vpc: '' }),
    ]);
    const codes = ['a', 'b', 'c', 'd', 'f'].map(
      (name) => conditionOf(controller, `RouterLBRule/${name}`, 'Validated').split(' ')[1],
    );
    assert.deepEqual(codes, [
      'PortsInvalid',
      'EndpointsInvalid',
      'BackendsMissing',
      'NamespaceNotFound',
      'InsideMissing',
    ]);
  });
});
