/** The adoption of a Kube-OVN cluster: first a dry run, then the adoption, without lost or duplicated rows. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ips,
  networkPolicies,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  pods,
  subnets,
} from '../../lib/kube/resources.ts';
import { ControllerBed, nameOf } from './controller-bed.ts';
import { createFormerObjects, formerPods, formerRouterMacs, formerRows, leftPort } from './kube-ovn-cluster.ts';
import { createFormerEdge, formerEdgeRows, formerEips } from './kube-ovn-edge.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
let uuids: ReadonlyMap<string, string>;

/** A label of a row, for tables with and without names. */
function labelOf(table: string, row: Readonly<Record<string, unknown>>): string {
  const content = row['match'] ?? row['ip_prefix'] ?? row['external_ip'];
  return `${table} ${nameOf(row as never) || `${String(row['priority'])} ${String(content)}`}`;
}

const tables = [
  'Logical_Router',
  'Logical_Router_Port',
  'Logical_Router_Policy',
  'Logical_Router_Static_Route',
  'Logical_Switch',
  'Logical_Switch_Port',
  'Port_Group',
  'NAT',
  'Gateway_Chassis',
];
/** Those of an OvnDnatRule. */
const published = 'published';

function uuidsNow(): ReadonlyMap<string, string> {
  return new Map(tables.flatMap((table) => bed.rows(table).map((row) => [labelOf(table, row), row._uuid] as const)));
}

before(async () => {
  bed = await ControllerBed.open();
  await createFormerObjects(bed);
  await bed.nb.transact(formerRows());
  await createFormerEdge(bed);
  await bed.nb.transact(formerEdgeRows());
  await eventually('the rows are there', () => bed.row('Logical_Switch', 'external'));
  uuids = uuidsNow();
  await createFormerPolicy();
});
after(() => bed.close());

const formerPolicy = { group: 'closed.default', set: 'closed.default.ingress.allow.IPv4.0' } as const;

/** A policy and Kube-OVN's rows for it: a port group with a drop, and an address set. */
async function createFormerPolicy(): Promise<void> {
  await bed.create(networkPolicies, 'closed', { podSelector: { matchLabels: { app: 'none' } } }, 'default');
  const match = `outport == @${formerPolicy.group} && ip`;
  await bed.nb.transact([
    {
      op: 'insert',
      table: 'ACL',
      uuidName: 'drop',
      row: { direction: 'to-lport', priority: 2000, match, action: 'drop' },
    },
    {
      op: 'insert',
      table: 'Port_Group',
      row: { name: formerPolicy.group, acls: [{ named: 'drop' }], external_ids: { np: 'default/closed' } },
    },
    {
      op: 'insert',
      table: 'Address_Set',
      row: { name: formerPolicy.set, addresses: ['10.16.0.7'], external_ids: { np: 'default/closed/ingress' } },
    },
  ]);
  await eventually('the rows of the policy are there', () => bed.row('Address_Set', formerPolicy.set));
}

/** The lines about an adopted row, without those of its ids. */
function adopted(text: string, row: string): readonly string[] {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith(`adopt  ${row} `));
  assert.ok(first >= 0, row);
  const rest = lines.slice(first + 1);
  const end = rest.findIndex((line) => !line.startsWith(' '));
  return rest.slice(0, end).flatMap((line) => (line.includes('external_ids') ? [] : [line.trim()]));
}

/** Each change that packets notice is a line of its own. */
function assertEdge(text: string): void {
  for (const row of ['Logical_Router_Port ovn-cluster-external', 'Logical_Switch_Port localnet.external'])
    assert.deepEqual(adopted(text, row), [], row);
  for (const number of [1, 2])
    assert.deepEqual(adopted(text, `Gateway_Chassis ovn-cluster-external-chassis-${number}`), []);
  assert.deepEqual(adopted(text, 'NAT snat/leave/ipv4'), ['gateway_port: null -> "ovn-cluster-external"']);
  // The gateway node has the address from then on.
  assert.deepEqual(adopted(text, 'NAT fip/floating/ipv4'), [
    `external_mac: "${formerEips.floating.macAddress}" -> null`,
    'gateway_port: null -> "ovn-cluster-external"',
    'logical_port: "web-1.default" -> null',
  ]);
  assert.deepEqual(adopted(text, `Load_Balancer ${published}`), []);
  assert.match(text, /insert Logical_Router_Policy snat\/leave\/ipv4 into Logical_Router ovn-cluster/);
  assert.doesNotMatch(text, /write {2}Ovn\w+\/\S+ \{"delete"/);
}

describe('adoption of a Kube-OVN cluster', () => {
  test('is reported by a dry run, which changes nothing', async () => {
    const [versions, changes] = [await bed.versions(), bed.changes];
    const text = await bed.dryRun();
    assert.match(text, /^Nothing was written/);
    assert.match(text, /adopt +Logical_Switch_Port web-1\.default \(pod\/default\/web-1\)/);
    assert.match(text, /port_security: \[\] -> \["5e:11:22:33:44:01 10\.16\.0\.7"\]/);
    assert.match(text, /Left as they are: 5 rows[^]*29400.*10\.99\.0\.0\/16[^]*Logical_Switch_Port left\.default/);
    assert.match(text, /^ +NAT .*snat.*172\.30\.1\.200.*10\.16\.0\.0\/16 in Logical_Router ovn-cluster$/m);
    assert.match(text, /^ +Load_Balancer my-dnat-rule .*172\.30\.1\.201:80=10\.16\.0\.7:8080/m);
    assert.match(text, /write {2}IP\/lost\.default \{"delete"/);
    assert.doesNotMatch(text, /^ +mac: /m, 'router ports keep their MAC addresses');
    assert.match(text, /adopt {2}Logical_Switch join \(subnet\/join\)\nadopt/, 'our ids go without saying');
    const writes = text.split('\n').filter((line) => line.startsWith('write '));
    assert.equal(new Set(writes).size, writes.length, 'each write is listed once');
    assert.doesNotMatch(text, /of-another/);
    assertEdge(text);
    assert.doesNotMatch(text, /write {2}Pod\/.*"annotations"/, 'pods keep their annotations');
    assert.deepEqual(await bed.versions(), versions);
    assert.equal(bed.changes, changes);
  });

  test('takes over network policies, and ends the rows that Kube-OVN made for them', async () => {
    assert.match(await bed.dryRun(), /adopt +Port_Group closed\.default \(former-policies\/all\)/);
    await bed.start();
    await eventually('the rows of Kube-OVN are gone', () => bed.row('Port_Group', formerPolicy.group) === undefined);
    await eventually('its address sets are gone', () => bed.row('Address_Set', formerPolicy.set) === undefined);
    const left = bed.rows('ACL').filter(({ match }) => String(match).includes(formerPolicy.group));
    assert.deepEqual(left, []);
    await bed.stop();
  });

  test('keeps the rows with their UUIDs and addresses', async () => {
    await bed.start();
    await bed.untilCondition('ovn-default', 'Ready', 'True');
    await bed.quiet();
    const now = uuidsNow();
    for (const [label, uuid] of uuids) assert.equal(now.get(label), uuid, label);
    // The end of each tier of ACLs, and the ports that policies select: Kube-OVN has no such groups.
    const own =
      /^Port_Group (?:isthmus\.(?:empty\.tiers|(?:isolated|cluster\.policies)\.(?:in|out)|cluster\.node\.n\d)|np\..*)$/;
    // What leads packets of the rules to the port outside; those of Kube-OVN left by the nodes.
    const ways = /^Logical_Router_Policy (?:29156|29272|29273) .*(?:203\.0\.113\.0\/24|_beyond_external\.ip4)$/;
    const fresh = [...now.keys()].filter((label) => !uuids.has(label) && !own.test(label) && !ways.test(label));
    assert.deepEqual(fresh, [], 'nothing was made twice');
    for (const [name, mac] of Object.entries(formerRouterMacs)) {
      assert.equal(bed.row('Logical_Router_Port', name)?.['mac'], mac);
    }
    for (const { name, ip, mac } of formerPods) {
      assert.deepEqual(bed.row('Logical_Switch_Port', `${name}.default`)?.['addresses'], [`${mac} ${ip}`]);
      const annotations = await bed.annotations(pods, name, 'default');
      assert.equal(annotations['ovn.kubernetes.io/ip_address'], ip);
    }
    assert.deepEqual(bed.members('ovn.default.n1'), ['web-1.default']);
    // Its address belongs to no Service here.
    assert.deepEqual(bed.row('Load_Balancer', 'cluster-tcp-loadbalancer')?.['vips'], {});
  });

  test('keeps addresses outside, their rules and their statuses', async () => {
    await eventuallyPasses(async () => {
      for (const [name, { v4Ip, macAddress, type, nat }] of Object.entries(formerEips)) {
        const { conditions: _, ...status } = await bed.status(ovnEips, name);
        // A speaker reads where the address is.
        const place = type === 'lrp' ? { nodes: ['n1', 'n2'] } : { gatewayPort: 'ovn-cluster-external' };
        assert.deepEqual(status, { v4Ip, v6Ip: '', macAddress, type, nat, ready: true, ...place });
      }
      const eip = formerEips.shared.v4Ip;
      const { conditions: _, ...rule } = await bed.status(ovnDnatRules, published);
      const ports = { protocol: 'tcp', externalPort: '80', internalPort: '8080', ipName: 'web-1.default' };
      const sides = { v4Eip: eip, v6Eip: '', v4Ip: '10.16.0.7', v6Ip: '' };
      assert.deepEqual(rule, { ready: true, vpc: 'ovn-cluster', ...sides, ...ports });
      assert.equal((await bed.status(ovnFips, 'floating'))['v4Eip'], formerEips.floating.v4Ip);
      assert.equal((await bed.status(ovnSnatRules, 'leave'))['v4IpCidr'], '10.16.0.0/16');
    });
    // Adopted rows keep what Isthmus does not write.
    const options = await bed.nb.transact([
      { op: 'select', table: 'NAT', where: [['external_ip', '==', formerEips.floating.v4Ip]], columns: ['options'] },
    ]);
    assert.match(JSON.stringify(options), /stateless.*false/);
    assert.deepEqual(bed.row('Load_Balancer', published)?.['vips'], {
      [`${formerEips.shared.v4Ip}:80`]: '10.16.0.7:8080',
    });
  });

  test('keeps foreign rows and deletes the IP objects of deleted pods', async () => {
    assert.ok(bed.policy('ip4.dst == 10.99.0.0/16'));
    assert.ok(bed.row('Logical_Switch', 'of-another'));
    await eventually('the IP object of a pod that is gone', async () => {
      return !(await bed.kube.list(ips)).some(({ metadata }) => metadata.name === 'lost.default');
    });
    const { finalizers } = (await bed.kube.get(subnets, { name: 'ovn-default' })).metadata;
    assert.deepEqual(finalizers, ['isthmus.network/controller']);
  });

  test('allocates free addresses to new pods, and deletes adopted pods without a trace', async () => {
    await bed.createPod('fresh');
    const address = await bed.address('fresh');
    assert.ok(!formerPods.some(({ ip }) => ip === address), address);
    assert.notEqual(address, leftPort.ip, 'a port that is still in the database has its address');
    await bed.deletePod('web-1');
    await eventually('no trace of web-1', async () => {
      const names = (await bed.kube.list(ips)).map(({ metadata }) => metadata.name);
      return bed.row('Logical_Switch_Port', 'web-1.default') === undefined && !names.includes('web-1.default');
    });
  });

  test('releases the address of a leftover port when the port is deleted', async () => {
    const asked = { annotations: { 'ovn.kubernetes.io/ip_address': leftPort.ip } };
    await bed.createPod('wants-it', asked);
    await bed.event('AcquireAddressFailed', 'wants-it', /AddressConflict: .*left\.default/);
    const { _uuid: uuid = '' } = bed.row('Logical_Switch_Port', leftPort.name) ?? {};
    const mutations = [['ports', 'delete', uuid]] as const;
    const where = [['name', '==', 'ovn-default']] as const;
    await bed.nb.transact([{ op: 'mutate', table: 'Logical_Switch', where, mutations }]);
    assert.equal(await bed.address('wants-it'), leftPort.ip);
    await bed.deletePod('wants-it');
    await bed.assertConsistent();
  });

  test('leaves nothing to write for a restart or a dry run', async () => {
    await bed.quiet();
    const [versions, changes] = [await bed.versions(), bed.changes];
    await bed.kill();
    const text = await bed.dryRun();
    assert.match(text, /adopt 0, insert 0, update 0, mutate 0, delete 0/);
    assert.match(text, /Kubernetes: 0 objects made, 0 objects written/);
    await bed.start();
    await bed.quiet();
    assert.deepEqual(await bed.versions(), versions);
    assert.equal(bed.changes, changes);
  });
});
