import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadBalancerCleanup } from '../../../lib/services/load-balancer.ts';
import { from, LoadBalancerBed, requested, sharing } from '../../testing-load-balancers.ts';
import { created } from '../../testing-vpcs.ts';

describe('a Service of type LoadBalancer', () => {
  test('gets the lowest free address, the oldest Service first, and a restart writes nothing', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8/30']);
    bed.service('young', {}, { day: 4 });
    bed.service('old', {}, { day: 3 });
    const writes = await bed.done();
    assert.deepEqual(
      [bed.addresses('old'), bed.addresses('young'), bed.serviceCondition('old')],
      [['192.0.2.8'], ['192.0.2.9'], 'AddressesGiven: 192.0.2.8 of LoadBalancerPool lan'],
    );
    assert.deepEqual(bed.counts('lan'), [4, 2, 2]);
    // The finalizer comes first.
    assert.deepEqual(
      writes.filter((one) => one.startsWith('patch Service/default/old')),
      ['patch Service/default/old', 'patch Service/default/old status'],
    );
    assert.deepEqual(bed.finalizers('old'), [loadBalancerCleanup]);
    assert.deepEqual(bed.statusOf('Service/default/old'), {
      loadBalancer: { ingress: [{ ip: '192.0.2.8', ipMode: 'VIP' }] },
      conditions: bed.conditions('Service/default/old'),
    });
    assert.ok(
      bed.events.some((one) => one === 'Normal Service/default/old AddressesGiven: 192.0.2.8 of LoadBalancerPool lan'),
    );
    const next = await bed.restarted();
    assert.deepEqual([next.writes, next.events], [[], []]);
  });

  test('that is deleted keeps its address until its status has none, then loses the finalizer, over a restart too', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8']);
    bed.service('old', {}, { day: 3 });
    bed.service('young', {}, { day: 4 });
    await bed.done();
    bed.service('old', {}, { day: 3, isDeleting: true });
    const next = await bed.restarted();
    for (const one of [bed, next]) {
      await one.settle();
      assert.deepEqual(
        one.writes.filter((write) => write.startsWith('patch Service/default/old')),
        ['patch Service/default/old status', 'patch Service/default/old'],
      );
      assert.ok(!one.objects.has('Service/default/old'));
      assert.deepEqual(one.addresses('young'), ['192.0.2.8']);
      assert.ok(one.events.includes('Normal Service/default/old AddressesReleased: the Service is being deleted'));
    }
  });

  test('of another program keeps its finalizer, and one without an address has none', async () => {
    const bed = await LoadBalancerBed.of();
    const foreign = { namespace: 'default', finalizers: [loadBalancerCleanup], ...created(2) };
    for (const [name, host, more] of [
      ['theirs', '98', {}],
      ['ending', '99', { deletionTimestamp: '2026-01-01T00:00:00Z' }],
    ] as const) {
      const spec = { type: 'LoadBalancer', clusterIPs: [`10.96.0.${host}`], ports: [{ port: 80 }] };
      const status = { loadBalancer: { ingress: [{ ip: `203.0.113.${host}` }] } };
      bed.put('services', { metadata: { name, ...foreign, ...more }, spec, status });
    }
    bed.service('waiting', {});
    const writes = await bed.done();
    assert.deepEqual(
      writes.filter((one) => /theirs|ending/.test(one)),
      [],
    );
    assert.deepEqual([bed.finalizers('theirs'), bed.finalizers('waiting')], [[loadBalancerCleanup], []]);
  });

  test('without a free address has a condition with the reason, and gets the next free address, the oldest Service first', async () => {
    const bed = await LoadBalancerBed.of();
    bed.service('a', {}, { day: 2 });
    await bed.done();
    assert.match(bed.serviceCondition('a'), /^!NoPool: there is no LoadBalancerPool: create one/);
    assert.deepEqual(
      bed.events.filter((one) => one.includes('Service')),
      [`Warning Service/default/a AllocateAddressFailed: ${bed.serviceCondition('a').slice(1)}`],
    );
    bed.pool('lan', ['192.0.2.8']);
    for (const [name, day] of [
      ['c', 4],
      ['b', 3],
    ] as const)
      bed.service(name, {}, { day });
    await bed.done();
    assert.deepEqual([bed.addresses('a'), bed.addresses('b'), bed.addresses('c')], [['192.0.2.8'], [], []]);
    assert.match(bed.serviceCondition('b'), /^!NoFreeAddress: LoadBalancerPool lan has no free IPv4 address/);
    assert.deepEqual((await bed.restarted()).writes, []);
    bed.remove('services', 'default/a');
    await bed.done();
    assert.deepEqual([bed.addresses('b'), bed.addresses('c')], [['192.0.2.8'], []]);
    bed.service('b', { type: 'ClusterIP' }, { day: 3 });
    await bed.done();
    assert.deepEqual([bed.addresses('b'), bed.serviceCondition('b'), bed.addresses('c')], [[], '', ['192.0.2.8']]);
    bed.pool('lan', ['192.0.2.8', '192.0.2.9']);
    bed.service('b', {}, { day: 3 });
    await bed.done();
    assert.deepEqual([bed.addresses('b'), bed.addresses('c')], [['192.0.2.9'], ['192.0.2.8']]);
  });

  test('of another class is not written, nor are entries of another program', async () => {
    const bed = await LoadBalancerBed.of();
    const ingress = [{ ip: '203.0.113.7', ipMode: 'VIP' }];
    bed.service('cloud', { loadBalancerClass: 'example.com/lb' }, { status: { loadBalancer: { ingress } } });
    bed.service('metal', {}, { status: { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } } });
    bed.service(
      'same',
      { loadBalancerClass: 'example.com/lb' },
      { status: { loadBalancer: { ingress: [{ ip: '192.0.2.8' }] } } },
    );
    bed.pool('lan', ['192.0.2.8..192.0.2.9']);
    bed.service('ours', { loadBalancerClass: 'isthmus.network/load-balancer' });
    await bed.done();
    for (const name of ['cloud', 'metal', 'same']) assert.equal(bed.serviceCondition(name), '');
    // An address that another program gave is not free.
    assert.deepEqual([bed.addresses('ours'), bed.counts('lan')], [['192.0.2.9'], [2, 0, 2]]);
    assert.deepEqual((await bed.restarted()).writes, []);
    bed.service('late', {}, { day: 5 });
    await bed.done();
    assert.match(bed.serviceCondition('late'), /^!NoFreeAddress/);
    bed.service(
      'late',
      {},
      { day: 5, status: { loadBalancer: { ingress }, conditions: bed.conditions('Service/default/late') } },
    );
    await bed.done();
    assert.deepEqual([bed.addresses('late'), bed.serviceCondition('late')], [['203.0.113.7'], '']);
  });

  test('of a former program is adopted with its address once a pool contains the address', async () => {
    const bed = await LoadBalancerBed.of();
    bed.service('metal', {}, { status: { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } } });
    assert.deepEqual([await bed.done(), bed.serviceCondition('metal')], [[], '']);
    bed.pool('lan', ['192.0.2.8/30']);
    bed.service('new', {}, { day: 1 });
    await bed.done();
    assert.deepEqual([bed.addresses('metal'), bed.addresses('new')], [['192.0.2.9'], ['192.0.2.8']]);
    assert.equal(bed.serviceCondition('metal'), 'AddressesGiven: 192.0.2.9 of LoadBalancerPool lan');
  });

  test('without a class gets an address only with --load-balancers=Unclassed', async () => {
    const bed = await LoadBalancerBed.of({
      aclTier: false,
      ipv6Selection: false,
      loadBalancers: true,
      onlyClassedLoadBalancers: true,
    });
    bed.pool('lan', ['192.0.2.8/30']);
    bed.service('plain');
    bed.service('classed', { loadBalancerClass: 'isthmus.network/load-balancer' });
    await bed.done();
    assert.deepEqual(
      [bed.addresses('plain'), bed.serviceCondition('plain'), bed.addresses('classed')],
      [[], '', ['192.0.2.8']],
    );
    // It was ours before.
    const status = {
      loadBalancer: { ingress: [{ ip: '192.0.2.9', ipMode: 'VIP' }, { hostname: 'lb.example' }] },
      conditions: bed.conditions('Service/default/classed'),
    };
    bed.service('plain', {}, { status });
    await bed.done();
    assert.deepEqual(
      [bed.serviceCondition('plain'), bed.statusOf('Service/default/plain')['loadBalancer']],
      ['', { ingress: [{ hostname: 'lb.example' }] }],
    );
    assert.deepEqual((await bed.restarted()).writes, []);
  });

  test('keeps its address when its pool shrinks, is deleted or does not select it any more', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8/30']);
    bed.service('a', {}, { day: 2 });
    bed.service('b', {}, { day: 3 });
    await bed.done();
    bed.pool('lan', ['192.0.2.9/32']);
    await bed.done();
    assert.match(bed.serviceCondition('a'), /^AddressOutsidePool: 192\.0\.2\.8 is in no LoadBalancerPool in force/);
    assert.deepEqual(
      [bed.addresses('a'), bed.addresses('b'), bed.counts('lan')],
      [['192.0.2.8'], ['192.0.2.9'], [1, 0, 1]],
    );
    assert.deepEqual((await bed.restarted()).writes, []);
    bed.pool('lan', ['192.0.2.8/30'], { serviceSelector: { matchLabels: { app: 'web' } } });
    await bed.done();
    assert.match(
      bed.serviceCondition('a'),
      /^AddressOutsidePool: 192\.0\.2\.8 is in LoadBalancerPool lan, which does not select/,
    );
    bed.pool('lan', undefined);
    await bed.done();
    assert.deepEqual([bed.addresses('a'), bed.addresses('b')], [['192.0.2.8'], ['192.0.2.9']]);
    bed.pool('lan', ['192.0.2.8/30']);
    await bed.done();
    assert.equal(bed.serviceCondition('a'), 'AddressesGiven: 192.0.2.8 of LoadBalancerPool lan');
    assert.deepEqual((await bed.restarted()).writes, []);
  });

  test('keeps its address if it is the older of two that claim the address, in any order of events', async () => {
    for (const order of [
      ['old', 'young'],
      ['young', 'old'],
    ]) {
      const bed = await LoadBalancerBed.of();
      bed.pool('lan', ['192.0.2.8/30']);
      const status = { loadBalancer: { ingress: [{ ip: '192.0.2.8', ipMode: 'VIP' }] } };
      for (const name of order) bed.service(name, {}, { day: name === 'old' ? 2 : 3, status });
      await bed.done();
      assert.deepEqual([bed.addresses('old'), bed.addresses('young')], [['192.0.2.8'], ['192.0.2.9']]);
    }
  });

  test('that was deleted and created again under the same name is another Service', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8']);
    bed.service('a');
    bed.service('b', {}, { day: 3 });
    await bed.done();
    bed.service('a', {}, { day: 4, uid: 'another', status: {} });
    await bed.done();
    assert.deepEqual([bed.addresses('a'), bed.addresses('b')], [[], ['192.0.2.8']]);
  });
});

describe('a request', () => {
  test('for addresses is met; otherwise the condition has the reason, and the Service keeps its addresses', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8/30']);
    bed.pool('quiet', ['198.51.100.0/30'], { autoAssign: false });
    bed.service('a', {}, { annotations: requested('192.0.2.10') });
    bed.service('b', { loadBalancerIP: '198.51.100.2' });
    bed.service('c', { loadBalancerIP: '192.0.2.10' }, { day: 3 });
    bed.service('d', {}, { annotations: requested('203.0.113.1') });
    bed.service('e', {}, { annotations: requested('nonsense') });
    bed.service('f', {}, { annotations: requested('2001:db8::1') });
    bed.service('g', {}, { annotations: requested('192.0.2.9,192.0.2.8') });
    await bed.done();
    assert.deepEqual([bed.addresses('a'), bed.addresses('b')], [['192.0.2.10'], ['198.51.100.2']]);
    assert.match(
      bed.serviceCondition('c'),
      /^!AddressInUse: 192\.0\.2\.10 is the address of Service default\/a, and only Services/,
    );
    assert.match(
      bed.serviceCondition('d'),
      /^!AddressNotInPool: 203\.0\.113\.1 is in no LoadBalancerPool in force: add it/,
    );
    assert.match(
      bed.serviceCondition('e'),
      /^!RequestInvalid: isthmus\.network\/load-balancer-ips: 'nonsense' is not an address/,
    );
    assert.match(bed.serviceCondition('f'), /^!RequestInvalid: .*spec\.ipFamilies has no IPv6/);
    assert.match(bed.serviceCondition('g'), /^!RequestInvalid: .*two addresses of family IPv4/);
    bed.service('a', {}, { annotations: requested('198.51.100.2') });
    await bed.done();
    assert.deepEqual(bed.addresses('a'), ['192.0.2.10']);
    assert.match(bed.serviceCondition('a'), /^!AddressInUse: .*; it keeps 192\.0\.2\.10$/);
    assert.deepEqual((await bed.restarted()).writes, []);
    bed.remove('services', 'default/b');
    await bed.done();
    assert.deepEqual([bed.addresses('a'), bed.addresses('c')], [['198.51.100.2'], ['192.0.2.10']]);
  });

  test('for a pool is met from that pool only', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8/30']);
    bed.pool('quiet', ['198.51.100.0/30'], {
      autoAssign: false,
      namespaceSelector: { matchLabels: { team: 'other' } },
    });
    bed.pool('broken', ['198.51.100.0/24'], {}, 3);
    bed.service('a', {}, { annotations: from('quiet'), namespace: 'other' });
    bed.service('b', {}, { annotations: from('quiet') });
    bed.service('c', {}, { annotations: from('missing') });
    bed.service('d', {}, { annotations: from('broken') });
    bed.service('e', {}, { annotations: { ...from('lan'), ...requested('198.51.100.1') }, namespace: 'other' });
    await bed.done();
    assert.deepEqual(bed.addresses('a', 'other'), ['198.51.100.0']);
    assert.match(bed.serviceCondition('b'), /^!PoolNotForService: LoadBalancerPool quiet selects other/);
    assert.match(bed.serviceCondition('c'), /^!PoolNotFound: there is no LoadBalancerPool missing: create it/);
    assert.match(bed.serviceCondition('d'), /^!PoolNotReady: LoadBalancerPool broken was refused/);
    assert.match(
      bed.serviceCondition('e', 'other'),
      /^!AddressNotInPool: 198\.51\.100\.1 is in LoadBalancerPool quiet and not in lan/,
    );
    bed.service('a', {}, { annotations: from('lan'), namespace: 'other' });
    await bed.done();
    bed.put('namespaces', { metadata: { name: 'default', labels: { team: 'other' } } });
    await bed.done();
    assert.deepEqual([bed.addresses('a', 'other'), bed.addresses('b')], [['192.0.2.8'], ['198.51.100.0']]);
  });

  test('for two families is met from one pool if a pool has both, otherwise from two', async () => {
    const bed = await LoadBalancerBed.of();
    const both = { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' };
    bed.pool('four', ['192.0.2.8/30'], {}, 1);
    bed.service('a', both);
    bed.service('b', { ...both, ipFamilyPolicy: 'PreferDualStack' });
    await bed.done();
    assert.match(
      bed.serviceCondition('a'),
      /^!NoPoolOfFamily: LoadBalancerPool four has no IPv6 addresses.*; it keeps 192\.0\.2\.8$/,
    );
    assert.equal(
      bed.serviceCondition('b'),
      'AddressesGiven: 192.0.2.9 of LoadBalancerPool four; no LoadBalancerPool that it may use has IPv6 addresses',
    );
    assert.deepEqual((await bed.restarted()).writes, []);
    bed.pool('dual', ['198.51.100.0/30', '2001:db8::/64'], {}, 2);
    bed.service('c', both);
    await bed.done();
    assert.deepEqual(
      ['a', 'b', 'c'].map((name) => bed.addresses(name)),
      [
        ['2001:db8::', '192.0.2.8'],
        ['2001:db8::1', '192.0.2.9'],
        ['2001:db8::2', '198.51.100.0'],
      ],
    );
    bed.service('a', { ipFamilies: ['IPv4'] });
    await bed.done();
    assert.deepEqual(bed.addresses('a'), ['192.0.2.8']);
    assert.deepEqual(bed.counts('dual'), [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 3]);
  });
});

describe('Services with one sharing key', () => {
  const port = (number: number, protocol = 'TCP') => ({ ports: [{ port: number, protocol }] });

  test('have one address, each with ports of its own, in one namespace', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8/30']);
    const annotations = sharing('web');
    bed.service('a', port(80), { annotations });
    bed.service('b', port(443), { annotations, day: 3 });
    bed.service('c', port(80, 'UDP'), { annotations: { ...annotations, ...requested('192.0.2.8') }, day: 4 });
    bed.service('d', port(80), { annotations, day: 5 });
    bed.service('e', { ...port(81), externalTrafficPolicy: 'Local' }, { annotations, day: 6 });
    bed.service('f', port(82), {
      annotations: { ...annotations, ...requested('192.0.2.8') },
      day: 7,
      namespace: 'other',
    });
    await bed.done();
    assert.deepEqual(
      ['a', 'b', 'c', 'd', 'e'].map((name) => bed.addresses(name)[0]),
      ['192.0.2.8', '192.0.2.8', '192.0.2.8', '192.0.2.9', '192.0.2.10'],
    );
    assert.match(bed.serviceCondition('f', 'other'), /^!AddressInUse: .* only Services of one namespace/);
    assert.deepEqual(bed.counts('lan'), [4, 1, 3]);
    assert.deepEqual((await bed.restarted()).writes, []);
  });

  test('do not share an address any more once a younger one has the port of an older one: the younger gets another address', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8/30']);
    const annotations = sharing('web');
    bed.service('a', port(80), { annotations });
    bed.service('b', port(81), { annotations, day: 3 });
    await bed.done();
    bed.service('a', port(81), { annotations });
    await bed.done();
    assert.deepEqual([bed.addresses('a'), bed.addresses('b')], [['192.0.2.8'], ['192.0.2.9']]);
  });

  test('share the address with a waiting one once a conflicting port has changed', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8']);
    const annotations = sharing('web');
    bed.service('a', port(80), { annotations });
    bed.service('b', port(80), { annotations, day: 3 });
    await bed.done();
    assert.match(bed.serviceCondition('b'), /^!NoFreeAddress/);
    bed.service('a', port(81), { annotations });
    await bed.done();
    assert.deepEqual([bed.addresses('a'), bed.addresses('b')], [['192.0.2.8'], ['192.0.2.8']]);
  });
});

describe('a LoadBalancerPool', () => {
  test('is refused if it overlaps an older one or another network, and no Service gets its addresses', async () => {
    const bed = await LoadBalancerBed.of();
    bed.put('serviceCidrs', { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/12'] } });
    bed.put('transitSwitches', {
      metadata: { name: 'ts' },
      spec: {},
      status: { cidr: '169.254.100.0/24', vpc: 'ovn-cluster' },
    });
    bed.pool('lan', ['192.0.2.0/24'], {}, 2);
    bed.pool('overlap', ['192.0.2.8..192.0.2.9'], {}, 3);
    bed.pool('subnet', ['10.16.1.0/24']);
    bed.pool('services', ['10.96.1.0/24']);
    bed.pool('node', ['172.30.0.1-172.30.0.20']);
    bed.pool('text', ['192.0.2.9..192.0.2.1']);
    bed.pool('group', ['224.0.0.0/24']);
    bed.pool('empty', []);
    await bed.done();
    assert.equal(bed.poolCondition('lan'), 'PoolReady: ');
    assert.match(
      bed.poolCondition('overlap'),
      /^!PoolOverlap: .*overlaps 192\.0\.2\.0\.\.192\.0\.2\.255 of LoadBalancerPool lan/,
    );
    assert.match(bed.poolCondition('subnet'), /^!CIDROverlap: .*of subnet ovn-default/);
    assert.match(bed.poolCondition('services'), /^!CIDROverlap: .*of ServiceCIDR kubernetes/);
    assert.match(bed.poolCondition('node'), /^!CIDROverlap: .*has 172\.30\.0\.11 of node n1/);
    assert.match(bed.poolCondition('text'), /^!AddressesInvalid/);
    assert.match(bed.poolCondition('group'), /^!AddressesInvalid: .*multicast/);
    assert.match(bed.poolCondition('empty'), /^!AddressesInvalid: spec\.addresses is empty/);
    assert.deepEqual(
      [bed.counts('lan'), bed.counts('overlap')],
      [
        [256, 256, 0],
        [0, 0, 0],
      ],
    );
    assert.deepEqual((await bed.restarted()).writes, []);
    bed.pool('lan', undefined);
    await bed.done();
    assert.equal(bed.poolCondition('overlap'), 'PoolReady: ');
  });

  test('in force withholds an address that a node gets, and stays in force', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['192.0.2.8/30']);
    bed.service('a');
    await bed.done();
    for (const [name, address] of [
      ['n2', '192.0.2.9'],
      ['n3', '192.0.2.8'],
    ] as const)
      bed.put('nodes', { metadata: { name }, status: { addresses: [{ type: 'InternalIP', address }] } });
    bed.service('b', {}, { day: 3 });
    await bed.done();
    assert.match(
      bed.poolCondition('lan'),
      /^AddressesWithheld: no Service gets 192\.0\.2\.9 of node n2, 192\.0\.2\.8 of node n3/,
    );
    assert.match(
      bed.serviceCondition('a'),
      /^AddressOutsidePool: 192\.0\.2\.8 is an address of node n3 now, and stays/,
    );
    assert.deepEqual([bed.addresses('a'), bed.addresses('b')], [['192.0.2.8'], ['192.0.2.10']]);
    assert.deepEqual((await bed.restarted()).writes, []);
  });

  test('in force keeps its addresses from a new Subnet', async () => {
    const bed = await LoadBalancerBed.of();
    bed.pool('lan', ['10.20.0.0/24']);
    await bed.done();
    bed.put('subnets', { metadata: { name: 'late', ...created(5) }, spec: { cidrBlock: '10.20.0.0/16' } });
    await bed.done();
    const conditions = bed.conditions('Subnet/late');
    assert.match(
      conditions.find(({ type }) => type === 'Validated')?.message ?? '',
      /overlaps 10\.20\.0\.0\/24 of LoadBalancerPool lan/,
    );
    assert.deepEqual((await bed.restarted()).writes, []);
    bed.pool('lan', undefined);
    await bed.done();
    assert.notEqual(bed.cluster.verdicts.get('late')?.net, undefined);
  });
});
