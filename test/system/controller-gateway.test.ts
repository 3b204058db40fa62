import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { openOvsdb } from 'ovsdb-client';
import type { OvsdbClient, Row } from 'ovsdb-client';
import { ips, nodes, objectPath, services, subnets, vpcs } from '../../lib/kube/resources.ts';
import { schemaFile, startOvsdbServer } from '../../lib/ovsdb/src/testing.ts';
import type { TestServer } from '../../lib/ovsdb/src/testing.ts';
import { ControllerBed, nameOf } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
let server: TestServer;
let southbound: OvsdbClient;
let addresses = 0;
const started = (): Promise<void> => bed.start(['--sb', server.remote]);
const merge = { contentType: 'application/merge-patch+json' };
const chassisAnnotation = 'ovn.kubernetes.io/chassis';

before(async () => {
  [bed, server] = await Promise.all([ControllerBed.open(), startOvsdbServer({ schema: schemaFile('ovn-sb') })]);
  const monitor = { Chassis: undefined, Chassis_Private: undefined };
  southbound = await openOvsdb({ remotes: [server.remote], database: 'OVN_Southbound', monitor });
  for (const name of ['n1', 'n2', 'n3']) {
    await bed.createNode(name, `172.30.1.1${name.slice(1)}`);
    await addChassis(`c-${name}`, name);
    await edit(name, {
      annotations: { [chassisAnnotation]: `c-${name}` },
      labels: { rack: name === 'n3' ? 'b' : 'a' },
    });
    await ready(name, true);
  }
  await started();
});
after(async () => {
  await bed.close();
  await southbound.close();
  await server.stop();
});

async function addChassis(name: string, hostname: string, more: object = {}): Promise<void> {
  addresses += 1;
  const ip = `10.9.0.${addresses}`;
  await southbound.transact([
    { op: 'insert', table: 'Encap', uuidName: 'encap', row: { type: 'geneve', ip, chassis_name: name } },
    {
      op: 'insert',
      table: 'Chassis',
      uuidName: 'chassis',
      row: { name, hostname, encaps: [{ named: 'encap' }], ...more },
    },
    { op: 'insert', table: 'Chassis_Private', row: { name, chassis: { named: 'chassis' } } },
  ]);
}

async function removeChassis(name: string): Promise<void> {
  const where = [['name', '==', name]] as const;
  await southbound.transact(['Chassis', 'Chassis_Private'].map((table) => ({ op: 'delete', table, where })));
}

function chassis(name: string): Row | undefined {
  return [...southbound.cache.table('Chassis').rows.values()].find((row) => row['name'] === name);
}

async function edit(name: string, metadata: object): Promise<void> {
  await bed.kube.patch(nodes, { name }, 'merge', { metadata });
}

async function ready(name: string, isReady: boolean): Promise<void> {
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }];
  await bed.kube.request('PATCH', objectPath(nodes, { name }, 'status'), { status: { conditions } }, merge);
}

const joinAddress = async (node: string): Promise<string> =>
  eventually(`address of ${node}`, async () => (await bed.annotations(nodes, node))['ovn.kubernetes.io/ip_address']);

/** Waits until a subnet's traffic leaves through exactly these nodes according to its policy and status. */
async function through(subnet: string, cidr: string, names: readonly string[]): Promise<void> {
  const hops = await Promise.all(names.map(joinAddress));
  await eventually(`${subnet} through ${names.join()}`, async () => {
    const policy = bed.policy(`ip4.src == ${cidr}`);
    const status = await bed.status(subnets, subnet);
    assert.deepEqual(new Set([policy?.['nexthops'] ?? []].flat()), new Set(hops));
    assert.equal(status['activateGateway'], names.join());
    return true;
  });
}

describe('a subnet with one gateway node', () => {
  test('uses the first ready node in policy and status', async () => {
    await bed.createSubnet('one', { cidrBlock: '10.60.0.0/24', gatewayType: 'centralized', gatewayNode: 'n2,n1' });
    await through('one', '10.60.0.0/24', ['n2']);
    const policy = bed.policy('ip4.src == 10.60.0.0/24');
    assert.equal(policy?.['priority'], 29_000);
    const ids = policy['external_ids'] as Record<string, string>;
    assert.deepEqual([ids['vendor'], ids['subnet'], ids['n2']], ['kube-ovn', 'one', await joinAddress('n2')]);
    assert.equal(bed.policy('ip4.src == $one.n1_ip4'), undefined);
    await bed.untilCondition('one', 'Ready', 'True');
  });

  test('uses another node when that is not ready, and keeps it when the first is back, also over a restart', async () => {
    await ready('n2', false);
    await through('one', '10.60.0.0/24', ['n1']);
    await bed.event('GatewayChanged', 'one', /n1, no longer n2/);
    await ready('n2', true);
    await bed.quiet();
    await through('one', '10.60.0.0/24', ['n1']);
    await bed.kill();
    await started();
    await bed.quiet();
    await through('one', '10.60.0.0/24', ['n1']);
  });

  test('keeps the last node and reports it when no node is ready', async () => {
    await ready('n1', false);
    await through('one', '10.60.0.0/24', ['n2']);
    await ready('n2', false);
    const message = await bed.untilCondition('one', 'Ready', 'False', 'GatewayNotReady');
    assert.match(message, /n2 is not Ready.*n1 is not Ready.*still goes to n2/);
    await through('one', '10.60.0.0/24', ['n2']);
    await ready('n1', true);
    await through('one', '10.60.0.0/24', ['n1']);
    await bed.untilCondition('one', 'Ready', 'True');
    await ready('n2', true);
  });

  test('does not use a node without a chassis', async () => {
    await removeChassis('c-n1');
    await through('one', '10.60.0.0/24', ['n2']);
    await addChassis('c-n1', 'n1');
    await bed.quiet();
    await through('one', '10.60.0.0/24', ['n2']);
  });

  test('reports unknown node names and uses the others', async () => {
    await bed.kube.patch(subnets, { name: 'one' }, 'merge', { spec: { gatewayNode: 'n77,n1' } });
    await through('one', '10.60.0.0/24', ['n1']);
    assert.match(await bed.untilCondition('one', 'Ready', 'False', 'GatewayNodeNotFound'), /n77/);
    await bed.kube.patch(subnets, { name: 'one' }, 'merge', { spec: { gatewayNode: '' } });
    assert.match(await bed.untilCondition('one', 'Ready', 'False', 'GatewayNodeMissing'), /gatewayNodeSelectors/);
    await eventually('no policy', () => bed.policy('ip4.src == 10.60.0.0/24') === undefined);
  });
});

describe('a subnet with several gateway nodes', () => {
  test('uses all ready nodes that its selector matches', async () => {
    await bed.createSubnet('many', {
      cidrBlock: '10.61.0.0/24,fd00:61::/64',
      gatewayType: 'centralized',
      enableEcmp: true,
      gatewayNodeSelectors: [{ matchLabels: { rack: 'a' } }],
    });
    await through('many', '10.61.0.0/24', ['n1', 'n2']);
    await ready('n1', false);
    await through('many', '10.61.0.0/24', ['n2']);
    await ready('n1', true);
    await through('many', '10.61.0.0/24', ['n1', 'n2']);
    await edit('n3', { labels: { rack: 'a' } });
    await through('many', '10.61.0.0/24', ['n1', 'n2', 'n3']);
    await edit('n3', { labels: { rack: 'b' } });
    await through('many', '10.61.0.0/24', ['n1', 'n2']);
  });

  test('keeps the last ready node when no node is ready', async () => {
    await ready('n1', false);
    await through('many', '10.61.0.0/24', ['n2']);
    await ready('n2', false);
    await bed.untilCondition('many', 'Ready', 'False', 'GatewayNotReady');
    await through('many', '10.61.0.0/24', ['n2']);
    await ready('n1', true);
    await ready('n2', true);
    await through('many', '10.61.0.0/24', ['n1', 'n2']);
  });
});

describe('a changed gateway type', () => {
  test('leaves pods no moment without a gateway', async () => {
    await bed.createNamespace('moving');
    await bed.createSubnet('moving', { cidrBlock: '10.62.0.0/24', namespaces: ['moving'] });
    await bed.createPod('p', { namespace: 'moving' });
    await bed.address('p', 'moving');
    const ways = (): number => {
      const isMember = bed.members('moving.n1').includes('p.moving');
      const own = isMember && bed.policy('ip4.src == $moving.n1_ip4') !== undefined;
      return Number(own) + Number(bed.policy('ip4.src == 10.62.0.0/24') !== undefined);
    };
    await eventually('distributed', () => ways() === 1);
    const seen: number[] = [];
    const stop = bed.nb.subscribe(() => seen.push(ways()));
    for (const [gatewayType, match] of [
      ['centralized', 'ip4.src == 10.62.0.0/24'],
      ['distributed', 'ip4.src == $moving.n1_ip4'],
    ] as const) {
      await bed.kube.patch(subnets, { name: 'moving' }, 'merge', { spec: { gatewayType, gatewayNode: 'n2' } });
      await eventually(gatewayType, () => bed.policy(match) !== undefined && ways() === 1);
    }
    stop();
    assert.ok(seen.length > 1 && !seen.includes(0), seen.join());
    await eventually(
      'no node in the status',
      async () => (await bed.status(subnets, 'moving'))['activateGateway'] === '',
    );
  });

  test('is reported as ignored in other VPCs', async () => {
    await bed.create(vpcs, 'blue', {});
    await bed.createSubnet('blue-1', {
      cidrBlock: '10.63.0.0/24',
      vpc: 'blue',
      gatewayType: 'centralized',
      gatewayNode: 'n1',
    });
    assert.match(await bed.untilCondition('blue-1', 'Ready', 'False', 'GatewayTypeIgnored'), /Vpc blue/);
    assert.equal(bed.policy('ip4.src == 10.63.0.0/24'), undefined);
    assert.equal(bed.row('Port_Group', 'blue.1.n1'), undefined);
    await bed.kube.delete(subnets, { name: 'blue-1' });
  });
});

describe('a subnet’s egress on the nodes', () => {
  test('has NAT rules with their ids in the status', async () => {
    const rule = { match: { srcIPs: '10.64.0.0/25', dstIPs: '192.0.2.0/24' }, action: 'forward' };
    const spec = { cidrBlock: '10.64.0.0/24', natOutgoing: true, natOutgoingPolicyRules: [rule] };
    await bed.createSubnet('rules', spec);
    const [stated] = await eventually('rules in the status', async () => {
      const { natOutgoingPolicyRules: rules = [] } = await bed.status(subnets, 'rules');
      return (rules as { ruleID: string }[]).length === 1 ? (rules as { ruleID: string }[]) : undefined;
    });
    assert.match(stated?.ruleID ?? '', /^[0-9a-f]{12}$/);
    assert.deepEqual(stated, { ruleID: stated?.ruleID, ...rule });
  });

  test('has one gateway per routing table; a younger subnet with another gateway waits for the older', async () => {
    const egress = { policyRoutingPriority: 1001, policyRoutingTableID: 1001 };
    await bed.createSubnet('out', { cidrBlock: '10.65.0.0/24', externalEgressGateway: '192.0.2.1', ...egress });
    await bed.untilCondition('out', 'Ready', 'True');
    await bed.createSubnet('out-too', { cidrBlock: '10.66.0.0/24', externalEgressGateway: '192.0.2.2', ...egress });
    assert.match(
      await bed.untilCondition('out-too', 'Ready', 'False', 'EgressTableConflict'),
      /table 1001 leads to 192\.0\.2\.1 for subnet out/,
    );
    await bed.kube.patch(subnets, { name: 'out' }, 'merge', { spec: { policyRoutingTableID: 1002 } });
    await bed.untilCondition('out-too', 'Ready', 'True');
    await bed.kube.patch(subnets, { name: 'out' }, 'merge', { spec: { externalEgressGateway: '10.65.0.9' } });
    assert.match(
      await bed.untilCondition('out', 'Ready', 'False', 'EgressGatewayInvalid'),
      /10\.65\.0\.9 is an address of the subnet/,
    );
  });
});

describe('nodes', () => {
  test('have tagged chassis', async () => {
    await eventually('tags', () => {
      for (const node of ['n1', 'n2', 'n3'])
        assert.deepEqual(chassis(`c-${node}`)?.['external_ids'], { vendor: 'kube-ovn', node });
      return true;
    });
  });

  test('have a policy that follows a changed address', async () => {
    const status = { addresses: [{ type: 'InternalIP', address: '172.30.1.93' }] };
    await bed.kube.request('PATCH', objectPath(nodes, { name: 'n3' }, 'status'), { status }, merge);
    await eventually('the new policy', () => bed.policy('ip4.dst == 172.30.1.93'));
    await eventually('no old policy', () => bed.policy('ip4.dst == 172.30.1.13') === undefined);
  });

  test('with the same address or port group name conflict: the older is served, the younger has events', async () => {
    await bed.createNode('n-4', '172.30.1.14');
    await joinAddress('n-4');
    await bed.createNode('n.4', '172.30.1.14');
    await joinAddress('n.4');
    await bed.event('ValidateNodeNetworkFailed', 'n.4', /^NodeAddressConflict: .*172\.30\.1\.14.*n-4/);
    await bed.event('ValidateNodeNetworkFailed', 'n.4', /^NodeNameConflict: .*node\.n\.4.*n-4/);
    assert.deepEqual(bed.policy('ip4.dst == 172.30.1.14')?.['nexthops'], [await joinAddress('n-4')]);
    await bed.kube.delete(nodes, { name: 'n-4' });
    const heir = await joinAddress('n.4');
    await eventually('the heir has both', () => {
      const ids = bed.row('Port_Group', 'node.n.4')?.['external_ids'] as Record<string, string> | undefined;
      return ids?.['node'] === 'n.4' && String(bed.policy('ip4.dst == 172.30.1.14')?.['nexthops']) === heir;
    });
    await bed.kube.delete(nodes, { name: 'n.4' });
  });

  test('that claim addresses of pods, the API server or another node are refused these addresses', async () => {
    const { spec } = await bed.kube.get(services, { namespace: 'default', name: 'kubernetes' });
    const { clusterIP } = spec as { clusterIP: string };
    const others = ['10.16.0.2', '10.16.77.7', '100.64.0.1', clusterIP];
    const claims = [...others, '172.30.1.12', '172.30.1.99'];
    const claim = async (): Promise<void> => {
      const status = { addresses: claims.map((address) => ({ type: 'InternalIP', address })) };
      await bed.kube.request('PATCH', objectPath(nodes, { name: 'n-5' }, 'status'), { status }, merge);
    };
    const isAsBefore = async (pod: string): Promise<void> => {
      for (const reason of [
        '10.16.0.2 .* subnet ovn-default',
        `${clusterIP} .* Service kubernetes`,
        '172.30.1.12 .* node n2',
      ])
        await bed.event('ValidateNodeNetworkFailed', 'n-5', new RegExp(`^NodeAddressConflict: .*${reason}`));
      await bed.createPod(pod);
      await bed.address(pod);
      for (const name of ['ovn-default', 'join']) await bed.untilCondition(name, 'Ready', 'True');
      for (const ip of others) assert.equal(bed.policy(`ip4.dst == ${ip}`), undefined);
      assert.deepEqual(bed.policy('ip4.dst == 172.30.1.12')?.['nexthops'], [await joinAddress('n2')]);
    };
    await bed.createNode('n-5', '172.30.1.98');
    await joinAddress('n-5');
    await claim();
    await eventually('its own address is served', () => bed.policy('ip4.dst == 172.30.1.99'));
    await isAsBefore('after-claim');
    await bed.kill();
    await started();
    await isAsBefore('after-restart');
    await bed.kube.delete(nodes, { name: 'n-5' });
    for (const pod of ['after-claim', 'after-restart']) await bed.deletePod(pod);
  });

  test('whose port group has the name of another subnet and node are reported', async () => {
    await bed.createNode('default-n1', '172.30.1.15');
    await joinAddress('default-n1');
    await bed.createSubnet('ovn', { cidrBlock: '10.67.0.0/24' });
    await bed.event('GatewayRefused', 'ovn', /node default-n1.*ovn\.default\.n1/);
    assert.ok(bed.policy('ip4.src == $ovn.default.n1_ip4'));
    await eventually('the other nodes of the subnet are served', () => bed.policy('ip4.src == $ovn.n1_ip4'));
    await bed.kube.delete(subnets, { name: 'ovn' });
    await bed.kube.delete(nodes, { name: 'default-n1' });
  });

  test('leave nothing in either database when they are deleted, and get the same address when they are back', async () => {
    await addChassis('stranger', 'n3');
    await addChassis('far', 'n3', { other_config: { 'is-remote': 'true' }, external_ids: { vendor: 'kube-ovn' } });
    await addChassis('old', 'n9', { external_ids: { vendor: 'kube-ovn' } });
    await eventually('a former node has no chassis', () => chassis('old') === undefined);
    const annotations = await bed.annotations(nodes, 'n3');
    await bed.createPod('left', { node: 'n3' });
    await bed.address('left');
    await bed.kube.delete(nodes, { name: 'n3' });
    await eventually('no trace of n3', async () => {
      const names = (await bed.kube.list(ips)).map(({ metadata }) => metadata.name);
      const rows = [
        bed.row('Logical_Switch_Port', 'node-n3'),
        bed.row('Port_Group', 'node.n3'),
        bed.row('Port_Group', 'ovn.default.n3'),
        bed.policy('ip4.dst == 172.30.1.93'),
        bed.policy('ip4.src == $ovn.default.n3_ip4'),
        chassis('c-n3'),
      ];
      return rows.every((row) => row === undefined) && !names.includes('node-n3');
    });
    const privates = () => [...southbound.cache.table('Chassis_Private').rows.values()].map(nameOf);
    await eventually('nor its private row', () => !privates().includes('c-n3'));
    assert.ok(chassis('stranger') && chassis('far') && chassis('c-n1'));
    assert.ok(bed.row('Logical_Switch_Port', 'left.default'), 'its pods have their ports until they are gone');
    await bed.kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n3', annotations } });
    await eventually('its port', () => bed.row('Logical_Switch_Port', 'node-n3'));
    assert.equal(await joinAddress('n3'), annotations['ovn.kubernetes.io/ip_address']);
    await eventually('its pod is a member again', () => bed.members('ovn.default.n3').includes('left.default'));
  });

  test('keep no chassis that they have replaced', async () => {
    await addChassis('c-n2-new', 'n2');
    await edit('n2', { annotations: { [chassisAnnotation]: 'c-n2-new' } });
    await eventually('the old one is gone', () => chassis('c-n2') === undefined);
    await eventually('the new one is tagged', () =>
      isDeepStrictEqual(chassis('c-n2-new')?.['external_ids'], { vendor: 'kube-ovn', node: 'n2' }),
    );
  });
});

describe('restarts', () => {
  test('write nothing to either database', async () => {
    await bed.quiet();
    let changes = 0;
    southbound.subscribe((all) => {
      changes += all.length;
    });
    const before = [await bed.versions(), bed.changes] as const;
    await bed.kill();
    await started();
    await bed.quiet();
    assert.deepEqual([await bed.versions(), bed.changes], before);
    assert.equal(changes, 0);
    await bed.assertConsistent();
  });

  test('do not select a node without a chassis', async () => {
    await removeChassis('c-n1');
    await through('many', '10.61.0.0/24', ['n2']);
    await bed.quiet();
    const before = bed.changes;
    await bed.kill();
    await started();
    await bed.quiet();
    assert.equal(bed.changes, before);
    await through('many', '10.61.0.0/24', ['n2']);
  });

  test('do not wait for a southbound database that does not answer', async () => {
    await server.kill('SIGSTOP');
    await bed.kill();
    await started();
    await bed.createPod('meanwhile');
    await bed.address('meanwhile');
    await server.kill('SIGCONT');
  });
});
