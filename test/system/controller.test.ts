import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  apiVersionOf,
  ips,
  namespaces,
  nodes,
  pods,
  remoteClusters,
  subnets,
  transitSwitches,
  vpcs,
} from '../../lib/kube/resources.ts';
import { ControllerBed, nameOf } from './controller-bed.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.createNode('n2', '172.30.1.12');
  await bed.start();
});
after(() => bed.close());

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;

describe('an empty cluster', () => {
  test('has a default Vpc, default Subnets and their rows', async () => {
    await bed.untilCondition('ovn-default', 'Ready', 'True');
    await bed.untilCondition('join', 'Ready', 'True');
    assert.deepEqual(bed.rows('Logical_Switch').map(nameOf).sort(), ['join', 'ovn-default']);
    const router = bed.row('Logical_Router', 'ovn-cluster');
    assert.deepEqual(router?.['options'], { mac_binding_age_threshold: '300', dynamic_neigh_routers: 'true' });
    assert.deepEqual(bed.row('Logical_Router_Port', 'ovn-cluster-ovn-default')?.['networks'], ['10.16.0.1/16']);
    assert.deepEqual(bed.row('Logical_Switch_Port', 'ovn-default-ovn-cluster')?.['options'], {
      'router-port': 'ovn-cluster-ovn-default',
    });
    const [route] = bed.rows('Logical_Router_Static_Route');
    assert.deepEqual([route?.['ip_prefix'], route?.['nexthop']], ['0.0.0.0/0', '100.64.0.1']);
    for (const cidr of ['10.16.0.0/16', '100.64.0.0/16']) {
      const policy = bed.policy(`ip4.dst == ${cidr}`);
      assert.deepEqual([policy?.['priority'], policy?.['action']], [31000, 'allow']);
    }
  });

  test('has objects with defaults and statuses', async () => {
    const subnet = await bed.kube.get(subnets, { name: 'ovn-default' });
    const { cidrBlock, gateway, excludeIps, protocol, default: isDefault } = subnet['spec'] as Record<string, unknown>;
    assert.deepEqual(
      [cidrBlock, gateway, excludeIps, protocol, isDefault],
      ['10.16.0.0/16', '10.16.0.1', ['10.16.0.1'], 'IPv4', true],
    );
    const status = subnet['status'] as Record<string, unknown>;
    assert.equal(status['v4availableIPs'], 65533);
    assert.equal(status['v4availableIPrange'], '10.16.0.2-10.16.255.254');
    await eventually('status of the Vpc', async () => {
      const { status } = (await bed.kube.get(vpcs, { name: 'ovn-cluster' })) as unknown as {
        status: Record<string, unknown>;
      };
      assert.deepEqual(status['subnets'], ['join', 'ovn-default']);
      assert.equal(status['defaultLogicalSwitch'], 'ovn-default');
      return true;
    });
    await eventually('annotations of a namespace', async () => {
      const annotations = await bed.annotations(namespaces, 'default');
      assert.equal(annotations[ovn('logical_switch')], 'ovn-default');
      assert.equal(annotations[ovn('cidr')], '10.16.0.0/16');
      return true;
    });
  });

  test('has ports, policies and IP objects for its nodes', async () => {
    const address = await eventually(
      'address of n1',
      async () => (await bed.annotations(nodes, 'n1'))[ovn('ip_address')],
    );
    const { [ovn('mac_address')]: mac, 'isthmus.network/service-address': second } = await bed.annotations(nodes, 'n1');
    assert.deepEqual(bed.row('Logical_Switch_Port', 'node-n1')?.['addresses'], [`${mac} ${address} ${second}`]);
    assert.deepEqual(bed.policy('ip4.dst == 172.30.1.11')?.['nexthops'], [address]);
    const gateway = bed.policy('ip4.src == $ovn.default.n1_ip4');
    assert.deepEqual([gateway?.['priority'], gateway?.['nexthops']], [29000, [address]]);
    assert.ok(bed.row('Port_Group', 'node.n1') && bed.row('Port_Group', 'ovn.default.n1'));
    assert.equal(bed.row('Port_Group', 'join.n1'), undefined);
    const ip = await eventually('IP object of n1', () => bed.kube.get(ips, { name: 'node-n1' }));
    assert.equal(ip.metadata.labels?.[ovn('subnet')], 'join');
  });
});

describe('pods', () => {
  test('get a port, annotations and an IP object, and leave nothing behind', async () => {
    await bed.createPod('web');
    const address = await bed.address('web');
    const annotations = await bed.annotations(pods, 'web', 'default');
    const mac = annotations[ovn('mac_address')];
    const { [ovn('gateway')]: gateway, [ovn('logical_switch')]: subnet, [ovn('cidr')]: cidr } = annotations;
    assert.deepEqual([gateway, subnet, cidr], ['10.16.0.1', 'ovn-default', '10.16.0.0/16']);
    const port = bed.row('Logical_Switch_Port', 'web.default');
    assert.deepEqual(port?.['addresses'], [`${mac} ${address}`]);
    assert.deepEqual(port['port_security'], [`${mac} ${address}`]);
    assert.deepEqual(bed.members('ovn.default.n1'), ['web.default']);
    const ip = await eventually('IP object', () => bed.kube.get(ips, { name: 'web.default' }));
    assert.equal((ip['spec'] as Record<string, string>)['v4IpAddress'], address);
    assert.equal(ip.metadata.labels?.['ovn-default'], '');
    await bed.deletePod('web');
    await eventually('no trace', async () => {
      const names = (await bed.kube.list(ips)).map(({ metadata }) => metadata.name);
      return (
        bed.row('Logical_Switch_Port', 'web.default') === undefined &&
        bed.members('ovn.default.n1').length === 0 &&
        !names.includes('web.default')
      );
    });
  });

  test('get an unused address before a released one, and no port without a pod network', async () => {
    await bed.createPod('a');
    assert.equal(await bed.address('a'), '10.16.0.3');
    await bed.createPod('host', { hostNetwork: true });
    await bed.createPod('unscheduled', { node: null });
    await bed.createPod('b', { node: 'n2' });
    assert.equal(await bed.address('b'), '10.16.0.4');
    assert.deepEqual(bed.members('ovn.default.n2'), ['b.default']);
    assert.equal(bed.row('Logical_Switch_Port', 'host.default'), undefined);
    assert.equal(bed.row('Logical_Switch_Port', 'unscheduled.default'), undefined);
  });

  test('release their address when they finish', async () => {
    await bed.createPod('job');
    await bed.address('job');
    const path = '/api/v1/namespaces/default/pods/job/status';
    await bed.kube.request(
      'PATCH',
      path,
      { status: { phase: 'Succeeded' } },
      { contentType: 'application/merge-patch+json' },
    );
    await eventually('release', () => bed.row('Logical_Switch_Port', 'job.default') === undefined);
  });

  test('get a requested address, or an event if it is in use or invalid', async () => {
    const ask = (name: string, key: string, value: string): Promise<void> =>
      bed.createPod(name, { annotations: { [ovn(key)]: value } });
    await ask('fixed', 'ip_address', '10.16.5.5');
    assert.equal(await bed.address('fixed'), '10.16.5.5');
    await ask('second', 'ip_address', '10.16.5.5');
    await bed.event('AcquireAddressFailed', 'second', /^AddressConflict: .*10\.16\.5\.5.*fixed\.default/);
    await ask('gw', 'ip_address', '10.16.0.1');
    await bed.event('AcquireAddressFailed', 'gw', /^AddressConflict: .*gateway/);
    await ask('far', 'ip_address', '10.99.0.1');
    await bed.event('AcquireAddressFailed', 'far', /^AddressOutOfRange/);
    await ask('six', 'ip_family', 'ipv6');
    await bed.event('AcquireAddressFailed', 'six', /^InvalidIPFamily/);
    await ask('routed', 'north_gateway', '10.0.0.1');
    await bed.event('AcquireAddressFailed', 'routed', /^NotSupported: .*north_gateway/);
    await bed.deletePod('fixed');
    assert.equal(await bed.address('second'), '10.16.5.5');
    for (const name of ['second', 'gw', 'far', 'six', 'routed']) await bed.deletePod(name);
  });
});

describe('subnets', () => {
  test('of a namespace are normalised, and their deletion waits for their pods', async () => {
    await bed.createNamespace('blue');
    await bed.createSubnet('blue', { cidrBlock: '10.50.0.7/24', namespaces: ['blue'] });
    await bed.untilCondition('blue', 'Ready', 'True');
    const { spec } = (await bed.kube.get(subnets, { name: 'blue' })) as unknown as { spec: Record<string, unknown> };
    assert.deepEqual(
      [spec['cidrBlock'], spec['gateway'], spec['excludeIps']],
      ['10.50.0.0/24', '10.50.0.1', ['10.50.0.1']],
    );
    await bed.createPod('p', { namespace: 'blue' });
    assert.equal(await bed.address('p', 'blue'), '10.50.0.2');
    await eventually('counts', async () => {
      const { status } = (await bed.kube.get(subnets, { name: 'blue' })) as unknown as {
        status: Record<string, unknown>;
      };
      return status['v4usingIPs'] === 1 && status['v4availableIPs'] === 252 && status['v4usingIPrange'] === '10.50.0.2';
    });
    await bed.kube.delete(subnets, { name: 'blue' });
    assert.match(await bed.untilCondition('blue', 'Ready', 'False', 'Deleting'), /p\.blue/);
    assert.ok(bed.row('Logical_Switch_Port', 'p.blue'));
    await bed.deletePod('p', 'blue');
    await eventually(
      'the subnet is gone',
      async () => !(await bed.kube.list(subnets)).some(({ metadata }) => metadata.name === 'blue'),
    );
    await eventuallyPasses(() => {
      assert.equal(bed.row('Logical_Switch', 'blue'), undefined);
      assert.equal(bed.row('Port_Group', 'blue.n1'), undefined);
      assert.equal(bed.policy('ip4.dst == 10.50.0.0/24'), undefined);
    });
  });

  test('with one address let a second pod wait until the address is released', async () => {
    await bed.createNamespace('tiny');
    await bed.createSubnet('tiny', { cidrBlock: '10.51.0.0/30', namespaces: ['tiny'] });
    await bed.createPod('first', { namespace: 'tiny' });
    assert.equal(await bed.address('first', 'tiny'), '10.51.0.2');
    await bed.createPod('next', { namespace: 'tiny' });
    await bed.event('AcquireAddressFailed', 'next', /^NoAvailableAddress/);
    await bed.deletePod('first', 'tiny');
    assert.equal(await bed.address('next', 'tiny'), '10.51.0.2');
  });

  test('of one namespace are used one after the other when they are full', async () => {
    await bed.createSubnet('tiny-more', { cidrBlock: '10.51.1.0/24', namespaces: ['tiny'] });
    await bed.createPod('third', { namespace: 'tiny' });
    assert.equal(await bed.address('third', 'tiny'), '10.51.1.2');
    assert.equal((await bed.annotations(namespaces, 'tiny'))[ovn('cidr')], '10.51.0.0/30;10.51.1.0/24');
  });

  test('with two CIDRs are dual-stack', async () => {
    await bed.createNamespace('dual');
    await bed.createSubnet('dual', { cidrBlock: '10.52.0.0/24,fd00:52::/64', namespaces: ['dual'] });
    await bed.createPod('d', { namespace: 'dual' });
    assert.equal(await bed.address('d', 'dual'), '10.52.0.2,fd00:52::2');
    const { spec } = (await bed.kube.get(subnets, { name: 'dual' })) as unknown as { spec: Record<string, unknown> };
    assert.deepEqual([spec['protocol'], spec['gateway']], ['Dual', '10.52.0.1,fd00:52::1']);
    assert.ok(bed.policy('ip6.dst == fd00:52::/64'));
  });

  test('that are invalid have a condition and an event until they are fixed, and do not affect others', async () => {
    await bed.createNamespace('red');
    await bed.createSubnet('red', { cidrBlock: '10.16.200.0/24', namespaces: ['red'] });
    assert.match(
      await bed.untilCondition('red', 'Validated', 'False', 'CIDROverlap'),
      /10\.16\.0\.0\/16 of subnet ovn-default/,
    );
    await bed.event('ValidateLogicalSwitchFailed', 'red', /^CIDROverlap/);
    await bed.untilCondition('ovn-default', 'Ready', 'True');
    assert.equal(bed.row('Logical_Switch', 'red'), undefined);
    await bed.createPod('p', { namespace: 'red' });
    await bed.event('AcquireAddressFailed', 'p', /^SubnetNotReady: subnet red/);
    await bed.kube.patch(subnets, { name: 'red' }, 'merge', { spec: { cidrBlock: '10.53.0.0/24' } });
    await bed.untilCondition('red', 'Ready', 'True');
    assert.equal(await bed.address('p', 'red'), '10.53.0.2');

    await bed.createSubnet('nodes', { cidrBlock: '172.30.0.0/16' });
    assert.match(
      await bed.untilCondition('nodes', 'Ready', 'False', 'CIDROverlap'),
      /172\.30\.1\.11, the address of node n1/,
    );
    await bed.createSubnet('lost', { cidrBlock: '10.54.0.0/24', vpc: 'nowhere' });
    await bed.untilCondition('lost', 'Ready', 'False', 'VpcNotFound');
    await bed.createSubnet('underlay', { cidrBlock: '10.55.0.0/24', vlan: 'vlan1' });
    assert.match(await bed.untilCondition('underlay', 'Ready', 'False', 'VlanNotFound'), /spec\.vlan names Vlan vlan1/);
    await bed.kube.create(vpcs, { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', metadata: { name: 'nowhere' }, spec: {} });
    await bed.untilCondition('lost', 'Ready', 'True');
    for (const name of ['nodes', 'lost', 'underlay']) await bed.kube.delete(subnets, { name });
  });

  test('that overlap an older subnet are refused until that is deleted', async () => {
    await bed.createSubnet('older', { cidrBlock: '10.56.0.0/24' });
    await bed.untilCondition('older', 'Ready', 'True');
    await bed.createSubnet('younger', { cidrBlock: '10.56.0.0/25' });
    await bed.untilCondition('younger', 'Ready', 'False', 'CIDROverlap');
    await bed.kube.delete(subnets, { name: 'older' });
    await bed.untilCondition('younger', 'Ready', 'True');
    assert.deepEqual(bed.row('Logical_Router_Port', 'ovn-cluster-younger')?.['networks'], ['10.56.0.1/25']);
    await bed.kube.delete(subnets, { name: 'younger' });
  });

  test('that overlap a prefix of another cluster are refused until the prefix is withdrawn', async () => {
    const offer = (routes: readonly object[]) =>
      bed.kube.patch(remoteClusters, { name: 'far' }, 'merge', { status: { routes } }, { subresource: 'status' });
    const apiVersion = apiVersionOf(remoteClusters);
    for (const [resource, name] of [
      [transitSwitches, 'ts'],
      [remoteClusters, 'far'],
    ] as const)
      await bed.kube.create(resource, { apiVersion, kind: resource.kind, metadata: { name }, spec: {} });
    await offer([{ prefix: '10.57.0.0/16', transitSwitch: 'ts', nextHop: '100.100.0.2', state: 'Active' }]);
    await bed.createSubnet('near', { cidrBlock: '10.57.3.0/24' });
    assert.match(
      await bed.untilCondition('near', 'Ready', 'False', 'InterconnectOverlap'),
      /10\.57\.0\.0\/16 of cluster far, .* transit switch ts/,
    );
    await bed.event('ValidateLogicalSwitchFailed', 'near', /^InterconnectOverlap/);
    assert.equal(bed.row('Logical_Switch', 'near'), undefined);
    await offer([]);
    await bed.untilCondition('near', 'Ready', 'True');
    await offer([{ prefix: '10.57.0.0/16', transitSwitch: 'ts', nextHop: '100.100.0.2', state: 'Active' }]);
    await bed.kill();
    await bed.start();
    await bed.quiet();
    await bed.untilCondition('near', 'Ready', 'True');
    await bed.kube.delete(subnets, { name: 'near' });
    await bed.kube.delete(remoteClusters, { name: 'far' });
    await bed.kube.delete(transitSwitches, { name: 'ts' });
  });

  test('with an invalid edit keep their former network in force, also over a restart', async () => {
    await bed.kube.patch(subnets, { name: 'red' }, 'merge', {
      spec: { cidrBlock: '10.16.7.0/24', gateway: '', excludeIps: [] },
    });
    await bed.untilCondition('red', 'Validated', 'False', 'CIDROverlap');
    assert.ok(bed.row('Logical_Switch_Port', 'p.red'));
    await bed.kill();
    await bed.start();
    await bed.quiet();
    assert.ok(bed.row('Logical_Switch_Port', 'p.red'));
    assert.deepEqual(bed.row('Logical_Router_Port', 'ovn-cluster-red')?.['networks'], ['10.53.0.1/24']);
    await bed.kube.patch(subnets, { name: 'red' }, 'merge', {
      spec: { cidrBlock: '10.53.0.0/16', gateway: '10.53.0.1', excludeIps: [] },
    });
    await bed.untilCondition('red', 'Ready', 'True');
    assert.equal((await bed.annotations(pods, 'p', 'red'))[ovn('ip_address')], '10.53.0.2');
    await eventually(
      'the new prefix',
      async () => (await bed.annotations(pods, 'p', 'red'))[ovn('cidr')] === '10.53.0.0/16',
    );
  });
});

describe('the controller', () => {
  test('writes nothing when it restarts after a stop or a crash', async () => {
    await bed.quiet();
    for (const end of ['stop', 'kill'] as const) {
      const before = [await bed.versions(), bed.changes] as const;
      await bed[end]();
      await bed.start();
      await bed.quiet();
      assert.deepEqual([await bed.versions(), bed.changes], before);
    }
    await bed.assertConsistent();
  });

  test('reconciles changes that were made while it did not run', async () => {
    await bed.createPod('left');
    await bed.createPod('stays');
    const address = await bed.address('left');
    await bed.address('stays');
    await bed.kill();
    await bed.deletePod('left');
    await bed.createPod('came');
    await bed.kube.delete(ips, { name: 'stays.default' });
    await bed.start();
    await bed.address('came');
    await bed.quiet();
    assert.equal(bed.row('Logical_Switch_Port', 'left.default'), undefined);
    assert.ok(!(await bed.kube.list(ips)).some(({ metadata }) => metadata.name === 'left.default'));
    await bed.assertConsistent();
    assert.ok(address);
  });

  test('publishes an address only after the database has it', async () => {
    await bed.server.kill('SIGSTOP');
    await bed.createPod('early');
    await bed.createPod('early-too');
    await sleep(400);
    assert.equal((await bed.annotations(pods, 'early', 'default'))[ovn('ip_address')], undefined);
    await bed.server.kill('SIGCONT');
    await bed.address('early');
    await bed.address('early-too');
    await bed.quiet();
    await bed.assertConsistent();
  });

  test('allocates no address twice when it is killed at random points', async () => {
    let made = 0;
    const burst = (): number =>
      bed.rows('Logical_Switch_Port').filter((row) => nameOf(row).startsWith('burst-')).length;
    for (const [round, rows] of [1, 9, 3, 14, 6].entries()) {
      const before = burst();
      for (let index = 0; index < 15; index += 1, made += 1)
        await bed.createPod(`burst-${made}`, { node: index % 2 === 0 ? 'n1' : 'n2' });
      if (round > 0) for (let index = 0; index < 5; index += 1) await bed.deletePod(`burst-${made - 30 + index}`);
      await eventually('some of the burst', () => burst() >= Math.min(before + rows - 5, made - 5 * round));
      await bed.kill();
      await bed.start();
    }
    for (const { metadata } of await bed.kube.list(pods)) {
      if (metadata.name.startsWith('burst-')) await bed.address(metadata.name);
    }
    await bed.quiet();
    await bed.assertConsistent();
  });
});

describe('nodes', () => {
  test('leave no rows when they are deleted', async () => {
    await bed.createNode('n3', '172.30.1.13');
    await eventually('n3', async () => (await bed.annotations(nodes, 'n3'))[ovn('allocated')]);
    await bed.kube.delete(nodes, { name: 'n3' });
    await eventually('no trace of n3', async () => {
      const names = (await bed.kube.list(ips)).map(({ metadata }) => metadata.name);
      const rows = [
        bed.row('Logical_Switch_Port', 'node-n3'),
        bed.row('Port_Group', 'node.n3'),
        bed.row('Port_Group', 'ovn.default.n3'),
        bed.policy('ip4.dst == 172.30.1.13'),
      ];
      return rows.every((row) => row === undefined) && !names.includes('node-n3');
    });
  });
});
