/** The columns of a pod's port besides its addresses, on a real API server and a real northbound database. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Row } from 'ovsdb-client';
import { nodes, pods, vips } from '../../lib/kube/resources.ts';
import { ControllerBed } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.createNode('n2', '172.30.1.12');
  await annotate('Node', 'n1', { chassis: 'id-1' });
  await bed.start();
});
after(() => bed.close());

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;
function idsOf(row: Row | undefined): Readonly<Record<string, string>> {
  return (row?.['external_ids'] ?? {}) as Readonly<Record<string, string>>;
}

function textsOf(row: Row | undefined, column: string): readonly string[] {
  return [...((row?.[column] ?? []) as string[])].sort();
}

async function annotate(
  kind: 'Pod' | 'Node',
  name: string,
  values: Readonly<Record<string, string | null>>,
): Promise<void> {
  const annotations = Object.fromEntries(Object.entries(values).map(([key, value]) => [ovn(key), value]));
  const at = kind === 'Pod' ? { namespace: 'default', name } : { name };
  await bed.kube.patch(kind === 'Pod' ? pods : nodes, at, 'merge', { metadata: { annotations } });
}

async function pod(
  name: string,
  annotations: Readonly<Record<string, string>> = {},
  more: object = {},
): Promise<string> {
  const keyed = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [ovn(key), value]));
  await bed.createPod(name, { annotations: keyed, ...more });
  return bed.address(name);
}

const port = (name: string): Row | undefined => bed.row('Logical_Switch_Port', `${name}.default`);

function optionsOf(row: Row | undefined): Readonly<Record<string, string>> {
  return (row?.['options'] ?? {}) as Readonly<Record<string, string>>;
}

describe('a port', () => {
  test('is bound to the chassis of its node once the chassis is known', async () => {
    await pod('here');
    await pod('there', {}, { node: 'n2' });
    assert.deepEqual(port('here')?.['options'], { 'requested-chassis': 'id-1' });
    assert.deepEqual(port('there')?.['options'], {});
    await annotate('Node', 'n2', { chassis: 'id-2' });
    await eventually('the chassis', () => optionsOf(port('there'))['requested-chassis'] === 'id-2');
  });

  test('has port security for its own addresses, and for others only with an annotation', async () => {
    await pod('own');
    assert.deepEqual(port('own')?.['port_security'], port('own')?.['addresses']);
    await annotate('Pod', 'own', { port_vips: '10.16.200.9' });
    await eventually('the other address', () => String(textsOf(port('own'), 'port_security')).endsWith(' 10.16.200.9'));
    await annotate('Pod', 'own', { port_security: 'false' });
    await eventually('no check', () => textsOf(port('own'), 'port_security').length === 0);
  });

  test('has rate limits that follow its annotations and are deleted with it', async () => {
    const limits = (): readonly unknown[] =>
      bed.rows('QoS').map((row) => [row['direction'], row['match'], row['bandwidth']]);
    await pod('slow', { ingress_rate: '10', egress_rate: '4', egress_burst: '1' });
    assert.equal(limits().length, 2);
    assert.deepEqual(
      limits().find((one) => (one as string[])[0] === 'to-lport'),
      ['to-lport', 'outport == "slow.default"', { rate: 10_000, burst: 8_000 }],
    );
    await annotate('Pod', 'slow', { ingress_rate: '20' });
    await eventually('the new rate', () => JSON.stringify(limits()).includes('20000'));
    await bed.deletePod('slow');
    await eventually('no limit', () => limits().length === 0);
  });

  test('has the DHCP options of the pod’s annotation', async () => {
    await pod('dhcp', { 'dhcp-v4-options': 'lease_time=60,dns_server=10.96.0.10' });
    const [uuid] = [port('dhcp')?.['dhcpv4_options']].flat();
    const options = bed.nb.cache.table('DHCP_Options').rows.get(String(uuid))?.['options'] as Record<string, string>;
    assert.equal(options['lease_time'], '60');
    assert.equal(options['router'], '10.16.0.1');
    await annotate('Pod', 'dhcp', { 'dhcp-v4-options': null });
    await eventually('no options', () => bed.rows('DHCP_Options').length === 0);
  });

  test('is a virtual parent of the Vips that select it or that it names', async () => {
    const virtual = (): Row | undefined => bed.row('Logical_Switch_Port', 'shared');
    const parents = (): unknown => (virtual()?.['options'] as Record<string, string> | undefined)?.['virtual-parents'];
    await bed.create(vips, 'shared', {
      subnet: 'ovn-default',
      namespace: 'default',
      selector: ['app:ha'],
      v4ip: '10.16.100.1',
    });
    await pod('ha-1', {}, { labels: { app: 'ha' } });
    await pod('ha-2', { aaps: 'shared' });
    await eventually('both may have it', () => parents() === 'ha-1.default,ha-2.default');
    assert.equal(optionsOf(virtual())['virtual-ip'], '10.16.100.1');
    assert.match(String(textsOf(port('ha-1'), 'port_security')), / 10\.16\.100\.1$/);
    assert.equal(idsOf(port('ha-2'))['vips'], '10.16.100.1');
    await bed.deletePod('ha-2');
    await eventually('one is left', () => parents() === 'ha-1.default');
    await bed.kube.delete(vips, { name: 'shared' });
    await eventually(
      'none',
      () => virtual() === undefined && !String(textsOf(port('ha-1'), 'port_security')).endsWith(' 10.16.100.1'),
    );
  });

  test('of the router answers ARP for load balancer Vips', async () => {
    await bed.create(vips, 'balancer', { subnet: 'ovn-default', type: 'switch_lb_vip', v4ip: '10.16.100.2' });
    const options = (): unknown => bed.row('Logical_Switch_Port', 'ovn-default-ovn-cluster')?.['options'];
    await eventually('the router answers', () => JSON.stringify(options()).includes('"arp_proxy":"10.16.100.2"'));
    await bed.kube.delete(vips, { name: 'balancer' });
    await eventually('no more', () => !JSON.stringify(options()).includes('arp_proxy'));
  });
});

describe('problems that only the user can fix', () => {
  test('are an annotation of the pod at once, and the pod starts when they are fixed', async () => {
    await bed.createPod('fast', { annotations: { [ovn('egress_rate')]: 'fast', [ovn('routes')]: '{}' } });
    const problem = async (): Promise<string | undefined> =>
      (await bed.annotations(pods, 'fast', 'default'))['isthmus.network/problem'];
    assert.match(
      await eventually('the note', problem),
      /^InvalidAnnotation: annotation ovn.kubernetes.io\/routes must be a JSON list/,
    );
    await bed.event('ValidatePodNetworkFailed', 'fast', /egress_rate: 'fast'/);
    assert.equal((await bed.annotations(pods, 'fast', 'default'))[ovn('allocated')], undefined);
    await annotate('Pod', 'fast', { egress_rate: '5', routes: null });
    await bed.address('fast');
    assert.equal(await problem(), undefined);
    await annotate('Pod', 'fast', { egress_rate: 'no' });
    await eventually('the note again', problem);
    assert.ok(port('fast'), 'a pod that runs keeps its port');
    assert.equal((await bed.annotations(pods, 'fast', 'default'))[ovn('allocated')], 'true');
  });

  test('include an address outside the subnet, but not an address in use', async () => {
    await bed.createPod('outside', { annotations: { [ovn('ip_address')]: '192.0.2.1' } });
    await eventually('the note', async () =>
      (await bed.annotations(pods, 'outside', 'default'))['isthmus.network/problem']?.startsWith('AddressOutOfRange: '),
    );
    await bed.createPod('taken', { annotations: { [ovn('ip_address')]: await bed.address('here') } });
    await bed.event('AcquireAddressFailed', 'taken', /AddressConflict/);
    assert.equal((await bed.annotations(pods, 'taken', 'default'))['isthmus.network/problem'], undefined);
    await bed.deletePod('taken');
  });
});

describe('a restart', () => {
  test('writes nothing', async () => {
    await bed.quiet();
    const beforeRestart = [await bed.versions(), bed.changes] as const;
    await bed.kill();
    await bed.start();
    await bed.quiet();
    assert.deepEqual([await bed.versions(), bed.changes], beforeRestart);
  });
});
