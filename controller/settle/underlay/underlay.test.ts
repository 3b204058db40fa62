import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planIps } from '../../plan/address/ip-object.ts';
import { planVipConditions } from '../../plan/vip/status.ts';
import { planSubnetConditions } from '../../plan/conditions.ts';
import { nodeProblems } from '../../plan/node/problems.ts';
import { planKey } from '../../plan/plan.ts';
import { planPodAnnotations } from '../../plan/pod/pod-annotations.ts';
import { isNeeded, planProviderNetworkConditions } from '../../plan/underlay/provider-network.ts';
import { planVlanConditions, planVlanStatus, subnetsIn } from '../../plan/underlay/vlan.ts';
import { proxiedAddresses } from '../../plan/vip/virtual-port.ts';
import { fill, lan, network, node, pod, podWithAddress, underlay, vlan } from '../../testing-underlay.ts';
import { basic, columns, created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseIp, parseVip } from '../../watch/addresses.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { acceptedNoteOf } from '../subnet/former-gateways.ts';

const tags = (cluster: TestCluster): readonly unknown[] =>
  planKey(cluster, 'subnet/lan').rows.flatMap(({ columns: { type, tag, options } }) =>
    type === 'localnet' ? [[tag, options]] : [],
  );
const ready = (cluster: TestCluster, name = 'lan'): string => {
  const is = planSubnetConditions(cluster, name, undefined).find(({ type }) => type === 'Ready');
  return is?.status === 'True' ? 'True' : `${is?.reason}: ${is?.message}`;
};
const address = (cluster: TestCluster, name: string): string | undefined =>
  cluster.ports(`pod/lan/${name}`)[0]?.allocation.v4;
const router = (cluster: TestCluster): string | undefined => cluster.ports('u2o/lan')[0]?.allocation.v4;
const reportOf = (cluster: TestCluster, name: string, key: string): unknown =>
  planPodAnnotations(cluster, `lan/${name}`)?.[`ovn.kubernetes.io/${key}`];

describe('a Vlan', () => {
  test('its id is the tag, also after an edit', () => {
    const cluster = underlay();
    assert.deepEqual(tags(cluster), [[10, { network_name: 'net1' }]]);
    vlan(cluster, 'v10', { id: 20, provider: 'net1' }, created(2));
    assert.ok(cluster.settle().has('subnet/lan'));
    assert.deepEqual(tags(cluster), [[20, { network_name: 'net1' }]]);
  });

  test('of two with one id the older is in force; the younger comes into force when the older is deleted', () => {
    const cluster = underlay({ ...lan, vlan: 'again' });
    vlan(cluster, 'again', { id: 10, provider: 'net1' }, created(3));
    cluster.settle();
    assert.match(
      ready(cluster),
      /^VlanConflict: .*Vlan again is not in force: .* belongs to Vlan v10, which had it first/,
    );
    assert.deepEqual(planVlanStatus(cluster, 'again'), { subnets: ['lan'], conflict: true });
    vlan(cluster, 'v10', undefined);
    const dirty = cluster.settle();
    assert.ok(dirty.has('vlan/again') && dirty.has('subnet/lan'));
    assert.deepEqual(planVlanStatus(cluster, 'again'), { subnets: ['lan'], conflict: false });
    assert.equal(ready(cluster), 'True');
  });

  test('that is deleted keeps its existing pods connected and admits no others; also after a restart', () => {
    const cluster = underlay();
    pod(cluster, 'a');
    cluster.settle();
    const before = [tags(cluster), columns(cluster, 'pod/lan/a'), planPodAnnotations(cluster, 'lan/a')];
    vlan(cluster, 'v10', undefined);
    pod(cluster, 'b');
    cluster.settle();
    assert.deepEqual([tags(cluster), columns(cluster, 'pod/lan/a'), planPodAnnotations(cluster, 'lan/a')], before);
    assert.match(ready(cluster), /^VlanNotFound/);
    assert.equal(cluster.addressProblem('pod/lan/b')?.code, 'SubnetNotReady');

    const next = new TestCluster();
    vpc(next, 'ovn-cluster', {}, created(1));
    fill(next, lan, { annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, 'lan') } });
    vlan(next, 'v10', undefined);
    podWithAddress(next, 'a', cluster);
    next.restore(new Map());
    next.settle();
    assert.deepEqual([tags(next), columns(next, 'pod/lan/a'), planPodAnnotations(next, 'lan/a')], before);

    vlan(next, 'v10', { id: 10, provider: 'net1' }, created(9));
    next.settle();
    assert.equal(ready(next), 'True');
  });

  test('is not in force until its ProviderNetwork exists', () => {
    const cluster = basic();
    fill(cluster);
    network(cluster, 'net1', undefined);
    cluster.settle();
    assert.match(ready(cluster), /^ProviderNetworkNotFound: .*net1, which does not exist/);
    network(cluster, 'net1', { defaultInterface: 'eth1' });
    cluster.settle();
    assert.equal(ready(cluster), 'True');
  });

  test('reports what its deletion waits for', () => {
    const cluster = underlay();
    const deleted = { ...created(2), deletionTimestamp: '2026-01-09T00:00:00Z' };
    vlan(cluster, 'v10', { id: 10, provider: 'net1' }, deleted);
    network(cluster, 'net1', { defaultInterface: 'eth1' }, deleted);
    cluster.settle();
    assert.equal(ready(cluster), 'True');
    const [{ vlans }, { providerNetworks }] = [cluster, cluster];
    const of = vlans.get('v10');
    const net1 = providerNetworks.get('net1');
    assert.ok(of && net1);
    const messages = [planVlanConditions(cluster, of)[1], planProviderNetworkConditions(cluster, net1)[0]];
    assert.deepEqual(
      messages.map((one) => `${one?.reason}: ${one?.message}`),
      ['Deleting: waits for the deletion of subnets lan', 'Deleting: waits for the deletion of vlans v10'],
    );
  });
});

const deletion = { ...created(2), deletionTimestamp: '2026-01-09T00:00:00Z' };
const vlanReady = (cluster: TestCluster, name: string): string => {
  const object = cluster.vlans.get(name);
  assert.ok(object);
  const is = planVlanConditions(cluster, object)[1];
  return is?.status === 'True' ? 'True' : `${is?.reason}: ${is?.message}`;
};
const networkReady = (cluster: TestCluster, name: string): string => {
  const object = cluster.providerNetworks.get(name);
  assert.ok(object);
  const is = planProviderNetworkConditions(cluster, object)[0];
  return `${is?.reason}: ${is?.message}`;
};

describe('the address of a load balancer in a VLAN', () => {
  const reportOf = (cluster: TestCluster): string => {
    const [, is] = planVipConditions(cluster, 'balancer', undefined);
    return is?.status === 'True' ? 'True' : `${is?.reason}: ${is?.message}`;
  };

  test('is refused if no OVN router would answer for it, and accepted when a router does', () => {
    const cluster = underlay();
    const spec = { subnet: 'lan', type: 'switch_lb_vip' };
    cluster.change('vips', 'balancer', parseVip({ metadata: meta('balancer'), spec }));
    cluster.settle();
    assert.match(
      reportOf(cluster),
      /^NotSupported: .*subnet lan is a router of the physical network, and OVN does not answer/,
    );
    for (const way of [{ u2oInterconnection: true }, { logicalGateway: true }, { vlan: '' }]) {
      subnet(cluster, 'lan', { ...lan, ...way }, created(3));
      assert.ok(cluster.settle().has('vip/balancer'));
      assert.equal(reportOf(cluster), 'True', JSON.stringify(way));
      const [address = ''] = proxiedAddresses(cluster, 'lan');
      assert.match(JSON.stringify(columns(cluster, 'subnet/lan')), new RegExp(`"arp_proxy":"${address}"`));
    }
    subnet(cluster, 'lan', lan, created(3));
    assert.ok(cluster.settle().has('vip/balancer'));
    assert.match(reportOf(cluster), /^NotSupported/);
  });

  test('that pods share needs no router', () => {
    const cluster = underlay();
    cluster.change('vips', 'balancer', parseVip({ metadata: meta('balancer'), spec: { subnet: 'lan' } }));
    cluster.settle();
    assert.equal(reportOf(cluster), 'True');
  });
});

describe('DHCP in a VLAN', () => {
  const mtus = (cluster: TestCluster, ...keys: readonly string[]): unknown =>
    keys.map((key) =>
      planKey(cluster, key).rows.flatMap(({ table, columns: { options } }) =>
        table === 'DHCP_Options' ? [(options as { mtu?: string }).mtu] : [],
      ),
    );
  const joins = (cluster: TestCluster, name: string, mtu: string): void =>
    node(cluster, name, `172.30.1.${name.slice(1)}`, {
      labels: { 'net1.provider-network.kubernetes.io/mtu': mtu },
    });

  test('announces the MTU of the physical network as nodes report it, or the smaller MTU of the subnet', () => {
    const cluster = underlay({ ...lan, enableDHCP: true });
    const ask = (spec: object): void => {
      subnet(cluster, 'lan', spec, created(3));
      cluster.settle();
    };
    const annotations = { 'ovn.kubernetes.io/dhcp-v4-options': 'lease_time=60' };
    pod(cluster, 'a', { annotations });
    pod(cluster, 'b');
    cluster.settle();
    const keys = ['dhcp/lan', 'pod/lan/a'] as const;
    assert.deepEqual(mtus(cluster, ...keys), [['1500'], ['1500']], 'before any node has said something');
    joins(cluster, 'n1', '9000');
    assert.deepEqual([...cluster.settle()].filter((key) => /^(dhcp|pod)/.test(key)).toSorted(), keys);
    assert.deepEqual(mtus(cluster, ...keys), [['9000'], ['9000']]);
    joins(cluster, 'n2', '8900');
    assert.ok(cluster.settle().has('dhcp/lan'));
    assert.deepEqual(mtus(cluster, ...keys), [['8900'], ['8900']], 'so much passes at every node');
    joins(cluster, 'n3', '12');
    joins(cluster, 'n4', '9000');
    assert.ok(!cluster.settle().has('dhcp/lan'), 'it is the same');
    ask({ ...lan, enableDHCP: true, mtu: 9100 });
    assert.deepEqual(mtus(cluster, ...keys), [['8900'], ['8900']]);
    ask({ ...lan, enableDHCP: true, mtu: 1300 });
    assert.deepEqual(mtus(cluster, ...keys), [['1300'], ['1300']]);
    ask({ ...lan, enableDHCP: true, vlan: '' });
    assert.deepEqual(mtus(cluster, ...keys), [['1400'], ['1400']], 'of the overlay');
  });
});

describe('an object that is being deleted', () => {
  test('a ProviderNetwork accepts no further Vlan or Subnet and waits for none; the existing ones stay', () => {
    const cluster = underlay();
    network(cluster, 'net1', { defaultInterface: 'eth1' }, deletion);
    vlan(cluster, 'late', { id: 30, provider: 'net1' }, created(9));
    subnet(cluster, 'late', { cidrBlock: '192.168.3.0/24', vlan: 'late' }, created(9));
    subnet(cluster, 'later', { cidrBlock: '192.168.4.0/24', vlan: 'v10' }, created(9));
    pod(cluster, 'a');
    const dirty = cluster.settle();
    assert.ok(dirty.has('vlan/v10') && dirty.has('vlan/late') && dirty.has('provider-network/net1'));
    assert.match(
      vlanReady(cluster, 'late'),
      /^ProviderNetworkNotFound: the Vlan is in ProviderNetwork net1, which is being/,
    );
    assert.match(ready(cluster, 'late'), /^ProviderNetworkNotFound: spec.vlan names Vlan late, which is in Provider/);
    assert.match(ready(cluster, 'later'), /^ProviderNetworkNotFound: spec.vlan names Vlan v10/);
    assert.equal(ready(cluster), 'True');
    assert.equal(address(cluster, 'a'), '192.168.1.2');
    assert.equal(networkReady(cluster, 'net1'), 'Deleting: waits for the deletion of vlans v10');
    assert.ok(isNeeded(cluster, 'net1'));

    pod(cluster, 'a', deletion);
    cluster.change('pods', 'lan/a', undefined);
    subnet(cluster, 'lan', undefined);
    assert.ok(cluster.settle().has('provider-network/net1'));
    assert.ok(!isNeeded(cluster, 'net1'), 'Vlans without a subnet in force do not hold it');
  });

  test('a Vlan does not wait for Subnets that were refused', () => {
    const cluster = underlay();
    vlan(cluster, 'v10', { id: 10, provider: 'net1' }, deletion);
    subnet(cluster, 'later', { cidrBlock: '192.168.4.0/24', vlan: 'v10' }, created(9));
    cluster.settle();
    assert.match(ready(cluster, 'later'), /^VlanNotFound: .* which is being deleted: name another$/);
    assert.equal(vlanReady(cluster, 'v10'), 'Deleting: waits for the deletion of subnets lan');
    subnet(cluster, 'lan', undefined);
    assert.ok(cluster.settle().has('vlan/v10'));
    assert.deepEqual(subnetsIn(cluster, 'v10'), []);
  });

  test('a ProviderNetwork waits for a Subnet whose Vlan was removed by force', () => {
    const cluster = underlay();
    pod(cluster, 'a');
    cluster.settle();
    vlan(cluster, 'v10', undefined);
    network(cluster, 'net1', { defaultInterface: 'eth1' }, deletion);
    cluster.settle();
    assert.equal(networkReady(cluster, 'net1'), 'Deleting: waits for the deletion of subnets lan');
  });
});

describe('addresses in a VLAN', () => {
  test("of nodes are not allocated to pods; an address that a node claims later stays the pod's, and the node has a problem", () => {
    const cluster = underlay();
    node(cluster, 'n2', '192.168.1.2');
    pod(cluster, 'a');
    cluster.settle();
    assert.equal(address(cluster, 'a'), '192.168.1.3');
    node(cluster, 'n3', '192.168.1.3');
    cluster.settle();
    assert.equal(ready(cluster), 'True');
    const [problem] = nodeProblems(cluster, 'n3');
    assert.match(
      problem?.message ?? '',
      /InternalIP 192\.168\.1\.3 of node n3 is an address of port a\.lan in subnet lan/,
    );
    assert.equal(address(cluster, 'a'), '192.168.1.3');
    const next = basic();
    fill(
      next,
      { ...lan, u2oInterconnection: true },
      { annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, 'lan') } },
    );
    node(next, 'n3', '192.168.1.3');
    podWithAddress(next, 'a', cluster);
    next.restore(new Map());
    next.settle();
    assert.equal(address(next, 'a'), '192.168.1.3');
    assert.ok(!planKey(next, 'node/n3').rows.some(({ key }) => key === 'node/n3/192.168.1.3'));
  });

  test('VLANs may share a CIDR if no router joins them; subnets of a router may not', () => {
    const cluster = underlay();
    vlan(cluster, 'v20', { id: 20, provider: 'net1' }, created(2));
    subnet(cluster, 'other', { cidrBlock: '192.168.1.0/24', vlan: 'v20' }, created(4));
    subnet(cluster, 'overlay', { cidrBlock: '192.168.1.0/24' }, created(5));
    subnet(cluster, 'same', { cidrBlock: '192.168.1.128/25', vlan: 'v10' }, created(6));
    cluster.settle();
    assert.deepEqual([ready(cluster), ready(cluster, 'other'), ready(cluster, 'overlay')], ['True', 'True', 'True']);
    assert.match(ready(cluster, 'same'), /^CIDROverlap: .* of subnet lan/);
    subnet(cluster, 'other', { cidrBlock: '192.168.1.0/24', vlan: 'v20', u2oInterconnection: true }, created(4));
    cluster.settle();
    assert.match(ready(cluster, 'other'), /^CIDROverlap: .* of subnet overlay/);
  });
});

describe('a subnet that is joined with the overlay', () => {
  const joined = { ...lan, u2oInterconnection: true };

  test('allocates the address of the router before those of pods, and it is their gateway', () => {
    const cluster = basic();
    pod(cluster, 'a');
    fill(cluster, joined);
    cluster.settle();
    assert.deepEqual([router(cluster), address(cluster, 'a')], ['192.168.1.2', '192.168.1.3']);
    assert.deepEqual(
      [reportOf(cluster, 'a', 'gateway'), reportOf(cluster, 'a', 'logical_router')],
      ['192.168.1.2', 'ovn-cluster'],
    );
    assert.deepEqual(planIps(cluster, 'u2o/lan')[0]?.object.name, 'u2o-interconnection.ovn-cluster.lan');
  });

  test('whose router gets no address has a problem, and its pods wait', () => {
    const cluster = underlay({ ...joined, u2oInterconnection: false });
    pod(cluster, 'a');
    cluster.settle();
    assert.equal(address(cluster, 'a'), '192.168.1.2');
    subnet(cluster, 'lan', { ...joined, u2oInterconnectionIP: '192.168.1.2' }, created(3));
    cluster.settle();
    assert.match(ready(cluster), /^AddressConflict: spec\.u2oInterconnection: .* used by a\.lan/);
    assert.equal(planPodAnnotations(cluster, 'lan/a'), undefined);
    subnet(cluster, 'lan', { ...joined, u2oInterconnectionIP: '192.168.1.9' }, created(3));
    cluster.settle();
    assert.deepEqual([ready(cluster), router(cluster)], ['True', '192.168.1.9']);
  });

  test('that is deleted keeps its router as long as it has pods, and then releases it', () => {
    const cluster = underlay(joined);
    pod(cluster, 'a');
    cluster.settle();
    subnet(cluster, 'lan', joined, { ...created(3), deletionTimestamp: '2026-01-09T00:00:00Z' });
    cluster.settle();
    assert.equal(router(cluster), '192.168.1.2');
    assert.equal(columns(cluster, 'u2o/lan').length, 4);
    cluster.change('pods', 'lan/a', undefined);
    cluster.settle();
    assert.equal(router(cluster), undefined);
    assert.deepEqual([columns(cluster, 'subnet/lan'), columns(cluster, 'u2o/lan')], [[], []]);
  });
});

describe('the router of a joined subnet, once it is to have another address or none', () => {
  const joined = { ...lan, u2oInterconnection: true };
  const networks = (cluster: TestCluster): unknown =>
    planKey(cluster, 'subnet/lan').rows.find(({ table }) => table === 'Logical_Router_Port')?.columns['networks'];
  /** Writes the Subnet as the controller has left it, with another spec. */
  const edit = (cluster: TestCluster, spec: object): void => {
    const note = { 'isthmus.network/accepted': acceptedNoteOf(cluster, 'lan') };
    subnet(cluster, 'lan', spec, { ...created(3), annotations: note });
    cluster.settle();
  };

  for (const [what, spec, gateway, left] of [
    ['none', lan, '192.168.1.1', ['192.168.1.2/24']],
    [
      'another',
      { ...joined, u2oInterconnectionIP: '192.168.1.9' },
      '192.168.1.9',
      ['192.168.1.9/24', '192.168.1.2/24'],
    ],
  ] as const) {
    test(`answers at the former one for pods that were set up with it: ${what}`, () => {
      const cluster = underlay(joined);
      pod(cluster, 'a');
      cluster.settle();
      const mac = planKey(cluster, 'subnet/lan').rows.find(({ table }) => table === 'Logical_Router_Port')?.columns[
        'mac'
      ];
      edit(cluster, joined);
      edit(cluster, spec);
      assert.deepEqual(networks(cluster), left);
      assert.equal(columns(cluster, 'u2o/lan').length, 4, 'its policies lead as before');
      assert.equal(reportOf(cluster, 'a', 'gateway'), gateway);
      const ready = planSubnetConditions(cluster, 'lan', undefined).find(({ type }) => type === 'Ready');
      assert.match(
        ready?.message ?? '',
        /the former gateway 192\.168\.1\.2 keeps answering until .* recreated: lan\/a$/,
      );
      edit(cluster, spec);
      pod(cluster, 'b', created(9));
      cluster.settle();
      assert.equal(address(cluster, 'b'), '192.168.1.4', 'the former one is not allocated');
      assert.deepEqual(networks(cluster), left);
      const now = planKey(cluster, 'subnet/lan').rows.find(({ table }) => table === 'Logical_Router_Port')?.columns[
        'mac'
      ];
      if (what === 'another') assert.equal(now, mac);

      cluster.change('pods', 'lan/a', undefined);
      cluster.settle();
      edit(cluster, spec);
      assert.deepEqual(networks(cluster), what === 'none' ? undefined : ['192.168.1.9/24']);
      assert.equal(columns(cluster, 'u2o/lan').length, what === 'none' ? 0 : 4);
      edit(cluster, spec);
      pod(cluster, 'c', { ...created(9), annotations: { 'ovn.kubernetes.io/ip_address': '192.168.1.2' } });
      cluster.settle();
      assert.equal(address(cluster, 'c'), '192.168.1.2', 'it is free again');
    });
  }

  test('gets an address of a family that was added to the subnet', () => {
    const cluster = underlay(joined);
    edit(cluster, { ...joined, cidrBlock: '192.168.1.0/24,fd00:1::/64' });
    assert.deepEqual(networks(cluster), ['192.168.1.2/24', 'fd00:1::2/64']);
    assert.equal(columns(cluster, 'u2o/lan').length, 8);
    assert.equal(ready(cluster), 'True');
  });

  test('keeps its address over a restart, although another is free and its port has its MAC address', () => {
    const cluster = underlay({ ...joined, u2oInterconnection: false });
    pod(cluster, 'a');
    cluster.settle();
    subnet(cluster, 'lan', joined, created(3));
    cluster.settle();
    cluster.change('pods', 'lan/a', undefined);
    cluster.settle();
    assert.equal(router(cluster), '192.168.1.3');
    const next = new TestCluster();
    const mac = cluster.ports('u2o/lan')[0]?.allocation.mac ?? '';
    next.setForeignPort('lan-ovn-cluster', { subnet: 'lan', addresses: [], macs: [mac] });
    vpc(next, 'ovn-cluster', {}, created(1));
    fill(next, joined, { annotations: { 'isthmus.network/accepted': acceptedNoteOf(cluster, 'lan') } });
    for (const { object, labels, spec } of planIps(cluster, 'u2o/lan'))
      next.change('ips', object.name, parseIp({ metadata: meta(object.name, { labels }), spec }));
    pod(next, 'early', { ...created(1), annotations: {} });
    next.restore(new Map());
    next.settle();
    assert.equal(router(next), '192.168.1.3');
    assert.deepEqual(columns(next, 'subnet/lan'), columns(cluster, 'subnet/lan'));
    assert.equal(acceptedNoteOf(next, 'lan'), acceptedNoteOf(cluster, 'lan'));
  });
});
