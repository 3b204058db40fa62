import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Row } from 'ovsdb-client';
import { ips, pods, subnets, vpcs } from '../../lib/kube/resources.ts';
import { ControllerBed, nameOf } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.start();
});
after(() => bed.close());

const edit = (name: string, spec: object): Promise<unknown> => bed.kube.patch(subnets, { name }, 'merge', { spec });

async function specOf(name: string): Promise<Record<string, unknown>> {
  return (await bed.kube.get(subnets, { name }))['spec'] as Record<string, unknown>;
}

/** `direction priority action match` of the ACLs of a switch, in order. */
function acls(name: string): readonly string[] {
  const uuids = (bed.row('Logical_Switch', name)?.['acls'] ?? []) as readonly string[];
  const rows = uuids.flatMap((uuid) => bed.nb.cache.table('ACL').rows.get(uuid) ?? []);
  return rows.map((row) => [row['direction'], row['priority'], row['action'], row['match']].join(' ')).sort();
}

function acl(priority: number): Row | undefined {
  return bed.rows('ACL').find((row) => row['priority'] === priority);
}

function until(what: string, check: () => unknown): Promise<unknown> {
  return eventually(what, async () => {
    await check();
    return true;
  });
}

/** The ACLs of a switch as they are on this OVN: with tiers, those that allow what reaches a pod pass it on to the later tiers. */
function inForce(texts: readonly string[]): readonly string[] {
  const isTiered = bed.nb.schema.tables['ACL']?.columns['tier'] !== undefined;
  const all = isTiered ? texts.map((text) => text.replace(/^(to-lport \d+) allow(?:-related)? /, '$1 pass ')) : texts;
  return all.toSorted();
}

function inside(direction: string, priority: number, action: string): readonly string[] {
  return [
    `${direction} ${priority} ${action} ip4.src == 10.60.0.0/24 && ip4.dst == 10.60.0.0/24`,
    `${direction} ${priority} ${action} ip6.src == fd00:60::/64 && ip6.dst == fd00:60::/64`,
  ];
}

describe('isolation', () => {
  const closed = ['to-lport 1000 drop ip', ...inside('to-lport', 1001, 'allow-related')];
  const nodes = 'to-lport 3000 allow-related ip4.src == 100.64.0.0/16';

  test('a private subnet has its ACLs from the creation of its switch', async () => {
    const seen: string[] = [];
    const stop = bed.nb.subscribe(() => {
      if (bed.row('Logical_Switch', 'closed') !== undefined) seen.push(acls('closed').join('\n'));
    });
    await bed.createNamespace('closed');
    const spec = {
      cidrBlock: '10.60.0.0/24,fd00:60::/64',
      private: true,
      allowSubnets: ['10.16.0.0/16', 'fd00:1::/64'],
    };
    await bed.createSubnet('closed', { ...spec, namespaces: ['closed'] });
    await bed.untilCondition('closed', 'Ready', 'True', 'SetPrivateLogicalSwitchSuccess');
    const allowed = [
      `to-lport 1001 allow-related (ip4.src == 10.60.0.0/24 && ip4.dst == 10.16.0.0/16) || (ip4.src == 10.16.0.0/16 && ip4.dst == 10.60.0.0/24)`,
      `to-lport 1001 allow-related (ip6.src == fd00:60::/64 && ip6.dst == fd00:1::/64) || (ip6.src == fd00:1::/64 && ip6.dst == fd00:60::/64)`,
    ];
    assert.deepEqual(acls('closed'), inForce([...closed, nodes, ...allowed]));
    assert.ok(seen.every((text) => text.includes('to-lport 1000 drop ip')));
    const drop = acl(1000);
    assert.deepEqual([drop?.['name'], drop?.['log'], drop?.['severity']], ['closed', true, 'warning']);
    const { vendor, parent } = (drop?.['external_ids'] ?? {}) as Record<string, string>;
    assert.deepEqual([vendor, parent], ['kube-ovn', 'closed']);

    await edit('closed', { allowSubnets: ['fd00:1::/64', '10.16.0.0/16', '10.61.0.0/24'] });
    await until('one more rule', () => assert.equal(acls('closed').length, 7));
    assert.ok(seen.every((text) => text.includes('to-lport 1000 drop ip')));
    stop();
  });

  test('an invalid CIDR in allowSubnets is refused, and the subnet stays closed', async () => {
    // The CRD refuses the CIDR; an object that is older than this rule may have it.
    await assert.rejects(edit('closed', { allowSubnets: ['10.16.0.0'] }), /allowSubnets/);
    await edit('closed', { allowSubnets: [] });
    await until('the rules without an allowed subnet', () =>
      assert.deepEqual(acls('closed'), inForce([...closed, nodes])),
    );
    await edit('closed', { private: false });
    await bed.untilCondition('closed', 'Ready', 'True', 'ResetLogicalSwitchAclSuccess');
    await until('no rules', () => assert.deepEqual(acls('closed'), []));
  });

  test('an invalid entry of acls is reported by its index, and the others apply', async () => {
    const own = { direction: 'to-lport', priority: 2000, match: 'ip4.src == 10.9.0.0/16 && tcp.dst == 80' };
    const wrong = { direction: 'to-lport', priority: 2001, match: 'ip4.scr == 10.9.0.1', action: 'drop' };
    await edit('closed', { allowEWTraffic: true, acls: [{ ...own, action: 'drop' }, wrong] });
    const message = await bed.untilCondition('closed', 'Validated', 'False', 'SetLogicalSwitchAclsFailed');
    assert.match(message, /^spec\.acls\[1\]\.match: .*ip4\.scr.*did you mean ip4\.src/);
    await bed.event('ValidateLogicalSwitchFailed', 'closed', /spec\.acls\[1\]\.match/);
    await bed.untilCondition('closed', 'Error', 'True');
    const eastWest = [...inside('from-lport', 1900, 'allow'), ...inside('to-lport', 1900, 'allow')];
    const drop = `to-lport 2000 drop ${own.match}`;
    await until('the others', () => assert.deepEqual(acls('closed'), inForce([...eastWest, drop])));
    const ids = bed.rows('ACL').find(({ match }) => match === own.match)?.['external_ids'] as Record<string, string>;
    assert.deepEqual([ids['subnet'], ids['vendor']], ['closed', 'kube-ovn']);

    const before = bed.changes;
    await edit('closed', { acls: [{ ...own, action: 'allow-related' }] });
    await bed.untilCondition('closed', 'Ready', 'True');
    await bed.untilCondition('closed', 'Error', 'False');
    const [allowed = ''] = inForce([`to-lport 2000 allow-related ${own.match}`]);
    await until('another action', () => assert.ok(acls('closed').includes(allowed)));
    assert.equal(bed.changes - before, 1, 'an edit of one is a change of one row');
    await edit('closed', { acls: [], allowEWTraffic: false });
    await until('none', () => assert.deepEqual(acls('closed'), []));
  });
});

describe('services of a switch', () => {
  test('DHCP options include the defaults, and their UUIDs are in the status', async () => {
    await bed.createNamespace('served');
    await bed.createSubnet('served', {
      cidrBlock: '10.62.0.0/24,fd00:62::/64',
      namespaces: ['served'],
      enableDHCP: true,
      mtu: 1380,
      dhcpV4Options: 'lease_time=7200,dns_server={10.96.0.10;10.96.0.11}',
      enableIPv6RA: true,
    });
    await bed.untilCondition('served', 'Ready', 'True');
    const [v4, v6] = await eventually('uuids of options', async () => {
      const { dhcpV4OptionsUUID: four, dhcpV6OptionsUUID: six } = await bed.status(subnets, 'served');
      return typeof four === 'string' && typeof six === 'string' ? [four, six] : undefined;
    });
    const options = bed.nb.cache.table('DHCP_Options').rows.get(v4)?.['options'] as Record<string, string>;
    const { server_mac: mac, ...rest } = options;
    assert.match(mac ?? '', /^0e:/);
    assert.deepEqual(rest, {
      lease_time: '7200',
      router: '10.62.0.1',
      server_id: '169.254.0.254',
      mtu: '1380',
      dns_server: '{10.96.0.10,10.96.0.11}',
    });
    assert.equal(bed.nb.cache.table('DHCP_Options').rows.get(v6)?.['cidr'], 'fd00:62::/64');
    const port = bed.row('Logical_Router_Port', 'ovn-cluster-served');
    const configs = { address_mode: 'dhcpv6_stateful', max_interval: '30', min_interval: '5', send_periodic: 'true' };
    assert.deepEqual(port?.['ipv6_ra_configs'], { ...configs, mtu: '1380' });

    await edit('served', { dhcpV4Options: 'speed=fast,lease_time=60', ipv6RAConfigs: 'address_mode=magic' });
    const message = await bed.untilCondition('served', 'Validated', 'False', 'DHCPOptionsInvalid');
    assert.match(message, /spec\.dhcpV4Options: speed is not an option.*spec\.ipv6RAConfigs: address_mode=magic/);
    await edit('served', { dhcpV4Options: '', ipv6RAConfigs: '', enableDHCP: false, enableIPv6RA: false });
    await bed.untilCondition('served', 'Ready', 'True');
    await until('no options', async () => {
      assert.equal(bed.rows('DHCP_Options').length, 0);
      assert.equal((await bed.status(subnets, 'served'))['dhcpV4OptionsUUID'], undefined);
    });
    await until('no advertisements', () =>
      assert.deepEqual(bed.row('Logical_Router_Port', 'ovn-cluster-served')?.['ipv6_ra_configs'], {}),
    );
  });

  test('the multicast querier has an address and an IP object, and releases them', async () => {
    await edit('served', { enableMulticastSnoop: true });
    const ip = await eventually('IP object', () => bed.kube.get(ips, { name: 'mcast-querier.served' }));
    const { v4IpAddress: address, macAddress: mac } = ip['spec'] as Record<string, string>;
    await until('the querier', async () => {
      const config = bed.row('Logical_Switch', 'served')?.['other_config'] as Record<string, string>;
      const { mcast_ip6_src: local, ...others } = config;
      assert.match(local ?? '', /^fe80::8/);
      assert.deepEqual(others, {
        mcast_snoop: 'true',
        mcast_querier: 'true',
        mcast_ip4_src: address,
        mcast_eth_src: mac,
      });
      const { mcastQuerierIP, mcastQuerierMAC, v4usingIPs } = await bed.status(subnets, 'served');
      assert.deepEqual([mcastQuerierIP, mcastQuerierMAC, v4usingIPs], [address, mac, 1]);
    });
    await edit('served', { enableMulticastSnoop: false });
    await until('no querier', async () => {
      assert.deepEqual(bed.row('Logical_Switch', 'served')?.['other_config'], {});
      assert.ok(!(await bed.kube.list(ips)).some(({ metadata }) => metadata.name.startsWith('mcast-querier')));
      const { mcastQuerierIP, v4usingIPs } = await bed.status(subnets, 'served');
      assert.deepEqual([mcastQuerierIP, v4usingIPs], [undefined, 0]);
    });
  });

  test('vips are reserved for the pods that name them', async () => {
    await edit('served', { vips: ['10.62.0.3', '10.62.0.100', '10.9.9.9'] });
    assert.match(
      await bed.untilCondition('served', 'Validated', 'False', 'VipsInvalid'),
      /spec\.vips\[2\]: 10\.9\.9\.9/,
    );
    await edit('served', { vips: ['10.62.0.3', '10.62.0.100'] });
    await bed.untilCondition('served', 'Ready', 'True');
    const names = { annotations: { 'ovn.kubernetes.io/port_vips': '10.62.0.100' } };
    await bed.createPod('one', { namespace: 'served', ...names });
    await bed.createPod('two', { namespace: 'served', ...names });
    const addresses = [await bed.address('one', 'served'), await bed.address('two', 'served')];
    assert.ok(!addresses.join().includes('10.62.0.3,'), 'a pod was given a vip');
    await until('the parents', () => {
      const port = bed.row('Logical_Switch_Port', 'served-vip-10.62.0.100');
      assert.equal(port?.['type'], 'virtual');
      assert.deepEqual(port['options'], { 'virtual-ip': '10.62.0.100', 'virtual-parents': 'one.served,two.served' });
    });
    await bed.deletePod('one', 'served');
    await until('one parent less', () => {
      const options = bed.row('Logical_Switch_Port', 'served-vip-10.62.0.100')?.['options'] as Record<string, string>;
      assert.equal(options['virtual-parents'], 'two.served');
    });
    await bed.deletePod('two', 'served');
    await edit('served', { vips: [] });
    await until('no virtual ports', () =>
      assert.ok(!bed.rows('Logical_Switch_Port').some((row) => row['type'] === 'virtual')),
    );
  });
});

describe('a subnet that changes', () => {
  test('keeps answering at a former gateway until the last pod that uses it is deleted', async () => {
    await bed.createNamespace('moved');
    await bed.createSubnet('moved', { cidrBlock: '10.63.0.0/24', namespaces: ['moved'] });
    await bed.createPod('old', { namespace: 'moved' });
    await bed.address('old', 'moved');
    await bed.createPod('taken', { namespace: 'moved' });
    assert.equal(await bed.address('taken', 'moved'), '10.63.0.3');
    await edit('moved', { gateway: '10.63.0.3' });
    assert.match(await bed.untilCondition('moved', 'Validated', 'False', 'AddressesInUse'), /gateway/);
    await bed.createPod('meanwhile', { namespace: 'moved' });
    assert.equal(await bed.address('meanwhile', 'moved'), '10.63.0.4');
    await bed.deletePod('meanwhile', 'moved');
    await bed.deletePod('taken', 'moved');
    await bed.untilCondition('moved', 'Ready', 'True');
    const networks = (): unknown => bed.row('Logical_Router_Port', 'ovn-cluster-moved')?.['networks'];
    assert.deepEqual([...(networks() as string[])].sort(), ['10.63.0.1/24', '10.63.0.3/24']);
    assert.match((await bed.condition('moved', 'Ready'))?.message ?? '', /10\.63\.0\.1 keeps answering .* moved\/old$/);
    await bed.kill();
    await bed.start();
    await bed.quiet();
    assert.deepEqual([...(networks() as string[])].sort(), ['10.63.0.1/24', '10.63.0.3/24']);
    await bed.deletePod('old', 'moved');
    await until('the new one alone', () => assert.deepEqual(networks(), ['10.63.0.3/24']));
    await until('no word of it', async () => assert.equal((await bed.condition('moved', 'Ready'))?.message, ''));
  });

  test('adds an address family for new pods, and removes a family only when it is unused', async () => {
    await bed.createPod('four', { namespace: 'moved' });
    const address = await bed.address('four', 'moved');
    await edit('moved', { cidrBlock: '10.63.0.0/24,fd00:63::/64', gateway: '10.63.0.3' });
    await bed.untilCondition('moved', 'Ready', 'True');
    await bed.createPod('both', { namespace: 'moved' });
    assert.match(await bed.address('both', 'moved'), /^10\.63\.0\.\d+,fd00:63::2$/);
    const annotations = await bed.annotations(pods, 'four', 'moved');
    assert.equal(annotations['ovn.kubernetes.io/ip_address'], address);
    assert.equal((await specOf('moved'))['protocol'], 'Dual');
    await edit('moved', { cidrBlock: '10.63.0.0/24', gateway: '10.63.0.3', excludeIps: [] });
    await bed.untilCondition('moved', 'Validated', 'False', 'AddressesInUse');
    assert.ok(bed.policy('ip6.dst == fd00:63::/64'));
    await bed.deletePod('both', 'moved');
    await bed.untilCondition('moved', 'Ready', 'True');
    await until('no IPv6', () => assert.equal(bed.policy('ip6.dst == fd00:63::/64'), undefined));
  });

  test('may have only IPv6, with a stable status for counts above the safe integers', async () => {
    await bed.createNamespace('six');
    await bed.createSubnet('six', { cidrBlock: 'fd00:64::/48', namespaces: ['six'], private: true, enableDHCP: true });
    await bed.untilCondition('six', 'Ready', 'True');
    await bed.createPod('p', { namespace: 'six' });
    assert.equal(await bed.address('p', 'six'), 'fd00:64::2');
    await until('its counts', async () => {
      const { v6availableIPs, v6availableIPrange, v6usingIPs } = await bed.status(subnets, 'six');
      assert.equal(v6availableIPs, 2 ** 80);
      assert.equal(v6availableIPrange, 'fd00:64::3-fd00:64:0:ffff:ffff:ffff:ffff:fffe');
      assert.equal(v6usingIPs, 1);
    });
    assert.deepEqual(
      acls('six').filter((text) => text.includes('ip4')),
      [],
    );
    await bed.quiet();
  });

  test('has an event for each corrected field', async () => {
    await bed.createSubnet('wrong', { cidrBlock: '10.65.0.7/24', default: true, protocol: 'IPv6' });
    await bed.event('SpecCorrected', 'wrong', /^spec\.default is set to false/);
    await bed.event('SpecCorrected', 'wrong', /^spec\.protocol IPv6 is set to IPv4/);
    await bed.event('SpecCorrected', 'wrong', /^spec\.cidrBlock 10\.65\.0\.7\/24 is set to 10\.65\.0\.0\/24/);
    const { default: isDefault, protocol, excludeIps } = await specOf('wrong');
    assert.deepEqual([isDefault, protocol, excludeIps], [false, 'IPv4', ['10.65.0.1']]);
    await edit('wrong', { excludeIps: ['10.65.0.0..10.65.0.255'] });
    await bed.untilCondition('wrong', 'Ready', 'True', 'NoAddressToGive');
    await bed.event('NoAddressToGive', 'wrong', /excludeIps/);
    await assert.rejects(edit('wrong', { mtu: 60 }), /mtu/);
  });
});

describe('a namespace', () => {
  test('whose subnet is being deleted has waiting pods with the reason in an event', async () => {
    await bed.createNamespace('closing');
    await bed.createSubnet('closing', { cidrBlock: '10.66.0.0/24', namespaces: ['closing'] });
    await bed.createPod('there', { namespace: 'closing' });
    await bed.address('there', 'closing');
    await bed.kube.delete(subnets, { name: 'closing' });
    await bed.createPod('late', { namespace: 'closing' });
    await bed.event('AcquireAddressFailed', 'late', /^SubnetNotReady: subnet closing .* being deleted/);
    assert.equal((await bed.annotations(pods, 'late', 'closing'))['ovn.kubernetes.io/ip_address'], undefined);
    await bed.createSubnet('opened', { cidrBlock: '10.67.0.0/24', namespaces: ['closing'] });
    assert.equal(await bed.address('late', 'closing'), '10.67.0.2');
    for (const name of ['there', 'late']) await bed.deletePod(name, 'closing');
    await bed.kube.delete(subnets, { name: 'opened' });
  });

  test('that subnets of two VPCs name stays in its VPC over a restart, and the conflict is reported', async () => {
    await bed.kube.create(vpcs, { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', metadata: { name: 'blue' }, spec: {} });
    await bed.createNamespace('asked');
    await bed.createSubnet('first', { cidrBlock: '10.68.0.0/24', vpc: 'blue', namespaces: ['asked'] });
    await bed.untilCondition('first', 'Ready', 'True');
    await bed.createSubnet('second', { cidrBlock: '10.69.0.0/24', namespaces: ['asked'] });
    assert.match(
      await bed.untilCondition('second', 'Validated', 'False', 'NamespaceConflict'),
      /asked is in Vpc blue.* first/,
    );
    await bed.event('NamespaceConflict', 'asked', /^subnet second: /);
    await bed.kill();
    await bed.start();
    await bed.quiet();
    await bed.createPod('p', { namespace: 'asked' });
    assert.equal(await bed.address('p', 'asked'), '10.68.0.2');
    await bed.deletePod('p', 'asked');
    for (const name of ['first', 'second']) await bed.kube.delete(subnets, { name });
    await bed.kube.delete(vpcs, { name: 'blue' });
  });
});

describe('a subnet with all services', () => {
  test('is not rewritten by restarts', async () => {
    await edit('served', { private: true, enableDHCP: true, enableMulticastSnoop: true, vips: ['10.62.0.200'] });
    await edit('served', { acls: [{ direction: 'from-lport', priority: 5, match: 'ip6', action: 'drop' }] });
    await bed.untilCondition('served', 'Ready', 'True');
    await bed.quiet();
    for (const end of ['stop', 'kill'] as const) {
      const before = [await bed.versions(), bed.changes] as const;
      await bed[end]();
      await bed.start();
      await bed.quiet();
      assert.deepEqual([await bed.versions(), bed.changes], before);
    }
  });

  test('gets Isthmus’s finalizer instead of Kube-OVN’s, and is deleted with all its rows', async () => {
    const former = 'kubeovn.io/kube-ovn-controller';
    await bed.kube.patch(subnets, { name: 'served' }, 'merge', {
      metadata: { finalizers: [former, 'example.org/keep'] },
    });
    await until('our own', async () => {
      const { finalizers } = (await bed.kube.get(subnets, { name: 'served' })).metadata;
      assert.deepEqual(finalizers, ['example.org/keep', 'isthmus.network/controller']);
    });
    await bed.kube.patch(subnets, { name: 'served' }, 'merge', { metadata: { finalizers: [former] } });
    await bed.kube.delete(subnets, { name: 'served' });
    await until('nothing left', async () => {
      assert.ok(!(await bed.kube.list(subnets)).some(({ metadata }) => metadata.name === 'served'));
      assert.equal(bed.row('Logical_Switch', 'served'), undefined);
      assert.ok(!bed.rows('Logical_Switch_Port').some((row) => nameOf(row).startsWith('served')));
      assert.ok(!bed.rows('DHCP_Options').some((row) => row['cidr'] === '10.62.0.0/24'));
      assert.ok(!(await bed.kube.list(ips)).some(({ metadata }) => metadata.name === 'mcast-querier.served'));
    });
  });
});
