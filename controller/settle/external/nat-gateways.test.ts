import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExternalRule } from '../../model/settled.ts';
import { iptablesEipFeature } from '../../plan/external/eip.ts';
import { planKey } from '../../plan/plan.ts';
import { conditionOf, bridge, controllerOf, made, node, outside, storedIn, type Made } from '../../testing-external.ts';
import type { TestController } from '../../testing-api.ts';

const lanIp = '10.90.0.254';
const gateway = (name: string, spec: object = {}, seconds = 1, more: object = {}): Made =>
  made(
    'vpcNatGateways',
    name,
    { vpc: 'blue', subnet: 'inner', lanIp, externalSubnets: ['external'], ...spec },
    seconds,
    more,
  );
const eip = (name: string, spec: object = {}, seconds = 2): Made =>
  made('iptablesEips', name, { natGwDp: 'gw', externalSubnet: 'external', ...spec }, seconds);
const snat = (name: string, spec: object, seconds = 3): Made => made('iptablesSnats', name, spec, seconds);
const fip = (name: string, spec: object, seconds = 3): Made => made('iptablesFips', name, spec, seconds);
const dnat = (name: string, spec: object, seconds = 3): Made =>
  made('iptablesDnats', name, { internalPort: '80', externalPort: '80', protocol: 'tcp', ...spec }, seconds);
const toGateway = { staticRoutes: [{ cidr: '0.0.0.0/0', nextHopIP: lanIp }] };

function put(controller: TestController, ...objects: readonly Made[]): Promise<void> {
  for (const { kind, raw } of objects) controller.put(kind, raw);
  return controller.settle();
}

function stateOf({ cluster }: TestController, key: string): string {
  const rule: ExternalRule | undefined = cluster.externalRules.get(key);
  if (rule === undefined) return 'unknown';
  return (rule.refusal ?? rule.obstacle)?.code ?? 'in force';
}

/** Prefix and next hop of the routes that the keys plan. */
function routes({ cluster }: TestController, vpc = 'blue'): readonly string[] {
  const rows = [`static-route/${vpc}`, `external-exit/${vpc}`, `vpc/${vpc}`].flatMap(
    (key) => planKey(cluster, key).rows,
  );
  return rows
    .filter(({ table }) => table === 'Logical_Router_Static_Route')
    .map(({ columns }) => `${String(columns['ip_prefix'])} ${String(columns['nexthop'])} ${String(columns['policy'])}`);
}

function rowsOf({ cluster }: TestController, key: string, table: string): readonly unknown[] {
  return planKey(cluster, key)
    .rows.filter((row) => row.table === table)
    .map(({ columns }) => columns);
}

describe('a VpcNatGateway', () => {
  test('and the Vpc itself want one port; it goes with the last of them', async () => {
    const controller = await controllerOf([...outside(), gateway('gw')]);
    const port = 'gateway-port/blue/external';
    const [before] = rowsOf(controller, port, 'Logical_Router_Port');
    assert.ok(before);
    await put(controller, made('vpcs', 'blue', {}));
    assert.deepEqual(rowsOf(controller, port, 'Logical_Router_Port'), [before]);
    await put(controller, made('vpcs', 'blue', { enableExternal: true }));
    controller.remove('vpcNatGateways', 'gw');
    await controller.settle();
    assert.deepEqual(rowsOf(controller, port, 'Logical_Router_Port'), [before]);
    await put(controller, made('vpcs', 'blue', {}));
    assert.deepEqual(planKey(controller.cluster, port).rows, []);
  });

  test('chooses nodes by labels or by their required affinity, without the label of gateways', async () => {
    const edge = (name: string, zone: string): Made => node(name, { [bridge]: 'true', zone });
    const controller = await controllerOf([
      ...outside({}),
      edge('n3', 'a'),
      edge('n4', 'b'),
      gateway('gw', { selector: ['zone:a'] }),
    ]);
    const nodes = (): readonly string[] | undefined =>
      controller.cluster.gatewayPorts
        .get('blue/external')
        ?.nodes.map(({ node: name }) => name)
        .sort();
    assert.deepEqual(nodes(), ['n3']);
    await put(controller, edge('n4', 'a'));
    assert.deepEqual(nodes(), ['n3', 'n4']);
    const nodeSelectorTerms = [{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }];
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    await put(controller, gateway('gw', { affinity: { nodeAffinity: required } }));
    assert.deepEqual(nodes(), ['n1', 'n2']);
    await put(controller, gateway('gw'));
    assert.deepEqual(nodes(), ['n1', 'n2']);
    await put(controller, gateway('gw', { selector: ['zone:c'] }));
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /^False NoGatewayNode no node can hold the port/);
  });

  test('takes no address that a pod has: it and its rules wait until the pod is gone', async () => {
    const pod = made('pods', 'vpc-nat-gw-gw-0', {}, 1, {
      annotations: { 'ovn.kubernetes.io/ip_address': lanIp, 'ovn.kubernetes.io/logical_switch': 'inner' },
    });
    const spec = { nodeName: 'n1' };
    const controller = await controllerOf([
      ...outside(toGateway),
      { kind: 'pods', raw: { ...pod.raw, metadata: { ...pod.raw.metadata, namespace: 'default' }, spec } },
    ]);
    assert.equal(controller.cluster.allocation('vpc-nat-gw-gw-0.default')?.v4, lanIp);
    const rule = snat('all', { eip: 'a', internalCIDR: '10.90.0.0/24' });
    await put(controller, gateway('gw', {}, 0), eip('a'), rule);
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /^False .*vpc-nat-gw-gw-0.*delete its StatefulSet/);
    assert.equal(stateOf(controller, 'iptablesSnats/all'), 'NatGatewayNotReady');
    assert.deepEqual(routes(controller), [`0.0.0.0/0 ${lanIp} dst-ip`]);
    assert.equal(controller.cluster.gatewayPorts.size, 0);
    // Also where the Vpc has the port by itself: two gateways would answer for one address outside.
    await put(controller, made('vpcs', 'blue', { ...toGateway, enableExternal: true }));
    assert.equal(stateOf(controller, 'iptablesSnats/all'), 'NatGatewayNotReady');
    controller.remove('pods', 'default/vpc-nat-gw-gw-0');
    await controller.settle();
    assert.equal(stateOf(controller, 'iptablesSnats/all'), 'in force');
    assert.deepEqual(routes(controller), ['0.0.0.0/0 203.0.113.1 dst-ip']);
  });

  test('is named by what it does not serve, and works', async () => {
    const controller = await controllerOf([
      ...outside({}),
      gateway('gw', {
        annotations: { 'k8s.v1.cni.cncf.io/networks': 'a' },
        bgpSpeaker: { enabled: true, extraArgs: ['--x'] },
        routes: [
          { cidr: '10.0.0.0/8', nextHopIP: 'gateway' },
          { cidr: '10.7.0.0/16', nextHopIP: '10.90.0.7' },
        ],
        internalSubnets: ['inner'],
        affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{}] } },
      }),
    ]);
    const validated = conditionOf(controller, 'VpcNatGateway/gw', 'Validated');
    assert.match(validated, /^False NotSupported not served, everything else is: spec.annotations: there is no pod/);
    for (const part of [
      'spec.bgpSpeaker: make a BgpPeer',
      'spec.routes[1]: write it',
      'spec.internalSubnets: the rules',
      'spec.affinity.podAntiAffinity',
    ])
      assert.ok(validated.includes(part), part);
    assert.ok(!validated.includes('spec.routes[0]'));
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /^True VpcNatGatewayReady/);
    assert.ok(controller.events.some((event) => event.includes('ValidateVpcNatGatewayFailed')));
  });

  test('that is missing, of no Vpc, or with an address of another Vpc, says so', async () => {
    const controller = await controllerOf([...outside({}), eip('a'), fip('a', { eip: 'a', internalIp: '10.90.0.9' })]);
    assert.equal(stateOf(controller, 'iptablesFips/a'), 'NatGatewayNotFound');
    assert.match(conditionOf(controller, 'IptablesEIP/a'), /^False NatGatewayNotFound spec.natGwDp: VpcNatGateway gw/);
    await put(controller, gateway('gw', { vpc: 'green' }));
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /^False VpcNotFound/);
    assert.equal(stateOf(controller, 'iptablesFips/a'), 'NatGatewayNotReady');
    await put(controller, made('vpcs', 'green', {}));
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /^False VpcMismatch/);
    // Its address is for pods of the other Vpc, and for a gateway of that.
    assert.equal(controller.cluster.allocation('nat-gateway/gw'), undefined);
    await put(controller, gateway('other'));
    assert.match(conditionOf(controller, 'VpcNatGateway/other'), /^True/);
    controller.remove('vpcNatGateways', 'other');
    await put(controller, gateway('gw', { vpc: 'green', subnet: '', lanIp: '' }));
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /^True/);
    assert.equal(stateOf(controller, 'iptablesFips/a'), 'in force');
    assert.equal(controller.cluster.externalRules.get('iptablesFips/a')?.vpc, 'green');
  });

  test('is not ready once its Vpc has no router any more', async () => {
    const leaving = { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: ['other'] };
    const controller = await controllerOf([
      ...outside({}),
      made('vpcs', 'red', {}, 1, leaving),
      gateway('gw', { vpc: 'red', subnet: '', lanIp: '' }),
    ]);
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /^False VpcNotFound spec.vpc: Vpc red is being deleted/);
  });

  test('in use stays until its addresses are gone, also over a restart', async () => {
    const controller = await controllerOf([...outside(toGateway), gateway('gw'), eip('a')]);
    const [metadata] = [controller.objects.get('VpcNatGateway/gw')?.metadata];
    const finalizers = metadata?.finalizers;
    assert.deepEqual(finalizers, ['isthmus.network/controller']);
    await put(controller, gateway('gw', {}, 1, { finalizers, deletionTimestamp: '2026-01-02T00:00:00Z' }));
    assert.match(conditionOf(controller, 'VpcNatGateway/gw'), /Deleting waits for the deletion of IptablesEIP a/);
    const again = await controllerOf(storedIn(controller));
    assert.equal(again.cluster.allocation('nat-gateway/gw')?.v4, lanIp);
    assert.deepEqual(routes(again), ['0.0.0.0/0 203.0.113.1 dst-ip']);
    again.remove('iptablesEips', 'a');
    await again.settle();
    assert.deepEqual(again.objects.get('VpcNatGateway/gw')?.metadata.finalizers ?? [], []);
    assert.deepEqual(planKey(again.cluster, 'gateway-port/blue/external').rows, []);
  });
});

describe('routes to a lanIp', () => {
  test('lead outside; a default route is the way out of the VPC', async () => {
    const more = [
      ...toGateway.staticRoutes,
      { cidr: '192.0.2.0/24', nextHopIP: lanIp },
      { cidr: '10.90.0.64/26', nextHopIP: lanIp, policy: 'policySrc' },
    ];
    const controller = await controllerOf([...outside({ staticRoutes: more }), gateway('gw')]);
    assert.deepEqual(routes(controller).toSorted(), [
      '0.0.0.0/0 203.0.113.1 dst-ip',
      '10.90.0.64/26 203.0.113.1 src-ip',
      '192.0.2.0/24 203.0.113.1 dst-ip',
    ]);
    assert.equal(controller.cluster.gatewayPorts.get('blue/external')?.isOnlyExit, true);
    assert.match(conditionOf(controller, 'Vpc/blue'), /^True/);
    // Nothing is at the address any more: the route leads to its next owner.
    controller.remove('vpcNatGateways', 'gw');
    await controller.settle();
    assert.ok(routes(controller).includes(`0.0.0.0/0 ${lanIp} dst-ip`));
  });

  test('choose among several ports, and wait for theirs', async () => {
    const controller = await controllerOf([
      ...outside({ enableExternal: true, ...toGateway }),
      gateway('gw', { externalSubnets: ['second'] }),
    ]);
    assert.deepEqual(routes(controller), ['0.0.0.0/0 198.51.100.1 dst-ip']);
    const policyRoutes = [{ priority: 7, match: 'ip4.src == 10.90.0.9', action: 'reroute', nextHopIP: lanIp }];
    await put(controller, made('vpcs', 'blue', { enableExternal: true, policyRoutes }));
    assert.deepEqual(routes(controller), ['0.0.0.0/0 203.0.113.1 dst-ip']);
    const hops = (): readonly unknown[] =>
      rowsOf(controller, 'policy-route/blue', 'Logical_Router_Policy').map(
        (row) => (row as Record<string, unknown>)['nexthops'],
      );
    assert.deepEqual(hops(), [['198.51.100.1']]);
    controller.remove('subnets', 'second');
    await controller.settle();
    assert.deepEqual(hops(), []);
    assert.match(
      conditionOf(controller, 'Vpc/blue'),
      /router has no port in the first Subnet outside of the VpcNatGateway/,
    );
  });

  test('are one row where they lead to one gateway', async () => {
    const staticRoutes = [lanIp, '10.90.0.253', '203.0.113.1'].map((nextHopIP) => ({
      cidr: '192.0.2.0/24',
      nextHopIP,
    }));
    const controller = await controllerOf([
      ...outside({ staticRoutes }),
      gateway('gw'),
      gateway('other', { lanIp: '10.90.0.253' }),
    ]);
    assert.deepEqual(routes(controller).toSorted(), [
      '0.0.0.0/0 203.0.113.1 dst-ip',
      '192.0.2.0/24 203.0.113.1 dst-ip',
    ]);
  });

  test('never lead out by another network, also while the port is on no node', async () => {
    const staticRoutes = [...toGateway.staticRoutes, { cidr: '0.0.0.0/0', nextHopIP: lanIp, routeTable: 'own' }];
    const controller = await controllerOf([
      ...outside({ enableExternal: true, staticRoutes }),
      made('subnets', 'tabled', { vpc: 'blue', cidrBlock: '10.91.0.0/24', routeTable: 'own' }),
      gateway('gw', { externalSubnets: ['second'], selector: ['zone:gone'] }),
    ]);
    assert.deepEqual(routes(controller), []);
    assert.match(
      conditionOf(controller, 'Vpc/blue'),
      /staticRoutes\[0\].nextHopIP: the router has no port in the first/,
    );
    await put(controller, gateway('gw', { externalSubnets: ['second'] }));
    assert.deepEqual(routes(controller), ['0.0.0.0/0 198.51.100.1 dst-ip', '0.0.0.0/0 198.51.100.1 dst-ip']);
  });

  test('in a named table lead to their own gateway', async () => {
    const staticRoutes = [
      ...toGateway.staticRoutes,
      { cidr: '0.0.0.0/0', nextHopIP: '10.90.0.253', routeTable: 'own' },
    ];
    const controller = await controllerOf([
      ...outside({ staticRoutes }),
      made('subnets', 'tabled', { vpc: 'blue', cidrBlock: '10.91.0.0/24', routeTable: 'own' }),
      gateway('gw'),
      gateway('other', { lanIp: '10.90.0.253', externalSubnets: ['second'] }),
    ]);
    assert.deepEqual(routes(controller), ['0.0.0.0/0 198.51.100.1 dst-ip', '0.0.0.0/0 203.0.113.1 dst-ip']);
  });

  test('of the default VPC are rows of their own, instead of its route to the nodes', async () => {
    const controller = await controllerOf([
      ...outside({}),
      made('vpcs', 'ovn-cluster', { staticRoutes: [{ cidr: '0.0.0.0/0', nextHopIP: '10.16.0.254' }] }),
      gateway('gw', { vpc: '', subnet: 'ovn-default', lanIp: '10.16.0.254' }),
    ]);
    assert.deepEqual(routes(controller, 'ovn-cluster'), ['0.0.0.0/0 203.0.113.1 dst-ip']);
  });
});

describe('an IptablesEIP', () => {
  const addressOf = ({ cluster }: TestController): string | undefined => cluster.allocation('eip/iptables/a')?.v4;

  test('has the address that its spec asks for, as after a restart', async () => {
    const controller = await controllerOf([...outside({}), gateway('gw'), eip('a')]);
    assert.equal(addressOf(controller), '203.0.113.2');
    await put(controller, eip('a', { v4ip: '203.0.113.77' }));
    assert.equal(addressOf(controller), '203.0.113.77');
    assert.equal(addressOf(await controllerOf(storedIn(controller))), '203.0.113.77');
  });

  test('works without the fields that are not served', async () => {
    const controller = await controllerOf([...outside({}), gateway('gw'), eip('a', { v6ip: 'fd00::1' })]);
    assert.match(conditionOf(controller, 'IptablesEIP/a', 'Validated'), /^False NotSupported not served, .*v6ip/);
    assert.match(conditionOf(controller, 'IptablesEIP/a'), /^True IptablesEIPReady/);
  });

  test('is planned again when the ports or the protocol of a rule change', async () => {
    const shared = { eip: 'a', internalIp: '10.90.0.9', type: 'share' };
    const controller = await controllerOf([...outside({}), gateway('gw'), eip('a'), dnat('one', shared)]);
    const before = controller.cluster.iptablesDnats.get('one');
    for (const change of [{ internalPort: '81' }, { externalPort: '81' }, { protocol: 'udp' }]) {
      await put(controller, dnat('one', { ...shared, ...change }));
      const after = controller.cluster.iptablesDnats.get('one');
      const keys = iptablesEipFeature.reads({ kind: 'iptablesDnats', name: 'one', before, after }, controller.cluster);
      assert.deepEqual([...keys], ['a'], JSON.stringify(change));
    }
  });

  test('in deletion says once that its VpcNatGateway does not work', async () => {
    const leaving = { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: ['isthmus.network/controller'] };
    const controller = await controllerOf([
      ...outside({}),
      gateway('gw'),
      eip('a'),
      snat('a', { eip: 'a', internalCIDR: '10.90.0.0/24' }),
    ]);
    const { raw } = eip('a');
    controller.put('iptablesEips', {
      ...controller.objects.get('IptablesEIP/a'),
      ...raw,
      metadata: { ...raw.metadata, ...leaving },
    });
    controller.remove('vpcNatGateways', 'gw');
    await controller.settle();
    assert.match(conditionOf(controller, 'IptablesEIP/a'), /Deleting waits for the deletion of IptablesSnatRule a/);
    assert.ok(!controller.events.some((event) => event.includes('IptablesEIPNotReady')));
  });
});

describe('rules of a VpcNatGateway', () => {
  test('plan the rows of the others, and are in conflict with them', async () => {
    const inside = { vpc: 'blue', v4Ip: '10.90.0.9' };
    const controller = await controllerOf([
      ...outside({}),
      gateway('gw'),
      eip('a', { v4ip: '203.0.113.50' }),
      fip('a', { eip: 'a', internalIp: '10.90.0.9' }),
      made('ovnEips', 'a', { v4Ip: '203.0.113.51' }, 2),
      made('ovnFips', 'a', { ovnEip: 'a', ...inside }, 4),
    ]);
    assert.equal(stateOf(controller, 'iptablesFips/a'), 'in force');
    assert.equal(stateOf(controller, 'ovnFips/a'), 'AddressInUse');
    const [nat] = rowsOf(controller, 'iptables-fip/a', 'NAT') as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual(
      [nat?.['type'], nat?.['external_ip'], nat?.['logical_ip']],
      ['dnat_and_snat', '203.0.113.50', '10.90.0.9'],
    );
    assert.deepEqual([nat?.['external_mac'], nat?.['logical_port']], [null, null]);
    const status = controller.objects.get('IptablesFIPRule/a')?.['status'] as Readonly<Record<string, unknown>>;
    assert.deepEqual([status['v4ip'], status['internalIp'], status['natGwDp']], ['203.0.113.50', '10.90.0.9', 'gw']);
    // Its rule may change, other than that of an OvnEip.
    await put(controller, fip('a', { eip: 'a', internalIp: '10.90.0.10' }));
    assert.equal(stateOf(controller, 'ovnFips/a'), 'in force');
  });

  test('share a port only if all of them do; the port leads to all that are in force', async () => {
    const at = (name: string, internalIp: string, type: string, seconds: number): Made =>
      dnat(name, { eip: 'a', internalIp, type }, seconds);
    const controller = await controllerOf([
      ...outside({}),
      gateway('gw'),
      eip('a', { v4ip: '203.0.113.50' }),
      at('one', '10.90.0.9', 'share', 3),
      at('two', '10.90.0.8', 'share', 4),
      at('alone', '10.90.0.7', 'exclusive', 5),
    ]);
    const vips = (): unknown =>
      planKey(controller.cluster, 'iptables-eip/a').contributions?.find(({ column }) => column === 'vips')?.entries;
    assert.equal(stateOf(controller, 'iptablesDnats/alone'), 'PortInUse');
    assert.deepEqual(vips(), { '203.0.113.50:80': '10.90.0.8:80,10.90.0.9:80' });
    controller.remove('iptablesDnats', 'two');
    await controller.settle();
    assert.deepEqual(vips(), { '203.0.113.50:80': '10.90.0.9:80' });
    controller.remove('iptablesDnats', 'one');
    await controller.settle();
    assert.equal(vips(), undefined);
    assert.equal(stateOf(controller, 'iptablesDnats/alone'), 'in force');
  });

  test('have an address of IPv4, in the Subnet of the gateway', async () => {
    const controller = await controllerOf([
      ...outside({}),
      gateway('gw'),
      eip('a', { v6ip: '2001:db8::9' }),
      eip('b', { externalSubnet: 'second' }),
      snat('b', { eip: 'b', internalCIDR: '10.90.0.0/24' }),
    ]);
    assert.match(conditionOf(controller, 'IptablesEIP/a', 'Validated'), /^False NotSupported .*spec.v6ip/);
    assert.equal(stateOf(controller, 'iptablesSnats/b'), 'NoExternalSubnet');
    assert.match(
      conditionOf(controller, 'IptablesSnatRule/b'),
      /name second in spec.externalSubnets of VpcNatGateway gw/,
    );
  });
});
