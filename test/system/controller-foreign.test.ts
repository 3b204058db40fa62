/** Other writers of the northbound database: addresses of their ports are not allocated, and their entries in Isthmus's rows stay. */
import assert from 'node:assert/strict';
import type { Operation } from 'ovsdb-client';
import { after, before, describe, test } from 'node:test';
import { addressConditionOf } from '../../lib/api/pod-addresses.ts';
import { pods } from '../../lib/kube/resources.ts';
import { ControllerBed } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.createSubnet('both', { cidrBlock: '10.61.0.0/24,fd61::/112' });
  await bed.start();
  await bed.untilCondition('ovn-default', 'Ready', 'True');
  await bed.untilCondition('both', 'Ready', 'True');
});
after(() => bed.close());

type Columns = (Operation & { readonly op: 'insert' })['row'];

/** Creates a port like another program or an administrator with ovn-nbctl. */
async function addPort(name: string, columns: Columns, switchName = 'ovn-default'): Promise<void> {
  const row = { name, ...columns };
  const mutations = [['ports', 'insert', { named: 'port' }]] as const;
  await bed.nb.transact([
    { op: 'insert', table: 'Logical_Switch_Port', uuidName: 'port', row },
    { op: 'mutate', table: 'Logical_Switch', where: [['name', '==', switchName]], mutations },
  ]);
}

async function removePort(name: string): Promise<void> {
  const { _uuid: uuid = '' } = bed.row('Logical_Switch_Port', name) ?? {};
  await bed.nb.transact([{ op: 'mutate', table: 'Logical_Switch', where: [], mutations: [['ports', 'delete', uuid]] }]);
}

let count = 0;
/** Creates a pod with these annotations; returns its address, or the reason of the refusal. */
async function ask(asked: Readonly<Record<string, string>>): Promise<string> {
  count += 1;
  const name = `asks-${count}`;
  const annotations = Object.fromEntries(Object.entries(asked).map(([key, value]) => [ovn(key), value]));
  await bed.createPod(name, { annotations });
  const condition = await eventually(`an answer for ${name}`, async () =>
    addressConditionOf((await bed.kube.get(pods, { namespace: 'default', name }))['status']),
  );
  const address = (await bed.annotations(pods, name, 'default'))[ovn('ip_address')] ?? '';
  await bed.deletePod(name);
  await eventually(`no port of ${name}`, () => bed.row('Logical_Switch_Port', `${name}.default`) === undefined);
  return condition.status === 'True' ? address : condition.reason;
}

describe('foreign ports', () => {
  const taken: readonly Readonly<Record<string, string>>[] = [
    { ip_address: '10.16.0.100' },
    { ip_address: '10.16.0.101' },
    { ip_address: '10.16.0.102' },
    { ip_address: '10.16.0.103' },
    { ip_address: '10.16.0.104' },
    { ip_address: '10.16.0.105' },
    { ip_address: '10.16.0.106' },
    { ip_address: '10.16.0.107' },
    { ip_address: '10.61.0.9,fd61::9', logical_switch: 'both' },
    { ip_address: '10.16.0.120', mac_address: '0a:00:00:00:01:00' },
    { ip_address: '10.16.0.120', mac_address: '0a:00:00:00:01:06' },
    { ip_address: '10.16.0.120', mac_address: '0a:00:00:00:01:07' },
  ];

  before(async () => {
    await addPort('by-hand', {
      addresses: ['0a:00:00:00:01:00 10.16.0.100 10.16.0.101', '0a:00:00:00:01:01 10.16.0.102'],
    });
    await addPort('given', { addresses: ['dynamic'], dynamic_addresses: '0a:00:00:00:01:03 10.16.0.103' });
    const ids = { 'neutron:id': 'x', ls: 'another' };
    await addPort('of-another', { addresses: ['0a:00:00:00:01:04 10.16.0.104'], external_ids: ids });
    await addPort('known', { addresses: ['unknown'], port_security: ['0a:00:00:00:01:05 10.16.0.105/24'] });
    await addPort('floating', {
      type: 'virtual',
      options: { 'virtual-ip': '10.16.0.106', 'virtual-parents': 'by-hand' },
    });
    await addPort('no-address', { addresses: ['0a:00:00:00:01:06', 'unknown'] });
    await addPort('six', { addresses: ['0a:00:00:00:01:08 fd61::9'] }, 'both');
    await bed.nb.transact([
      {
        op: 'insert',
        table: 'Logical_Router_Port',
        uuidName: 'lrp',
        row: { name: 'r-here', mac: '0a:00:00:00:01:07', networks: ['10.16.0.107/16'] },
      },
      { op: 'insert', table: 'Logical_Router', row: { name: 'r', ports: { named: 'lrp' } } },
    ]);
    await addPort('here-r', { type: 'router', addresses: ['router'], options: { 'router-port': 'r-here' } });
  });

  const areTaken = async (): Promise<void> => {
    for (const asked of taken) assert.equal(await ask(asked), 'AddressConflict', JSON.stringify(asked));
    const mac = bed.row('Logical_Router_Port', 'ovn-cluster-ovn-default')?.['mac'];
    assert.equal(
      await ask({ ip_address: '10.16.0.120', mac_address: String(mac) }),
      'AddressConflict',
      'of the router',
    );
    assert.equal(await ask({ ip_address: '10.16.0.120' }), '10.16.0.120');
  };

  test('keep their addresses and MAC addresses from pods', areTaken);

  test('keep their addresses and MAC addresses after a restart', async () => {
    await bed.quiet();
    const before = bed.changes;
    await bed.kill();
    await bed.start();
    await bed.quiet();
    assert.equal(bed.changes, before);
    await areTaken();
  });

  test('release their addresses to waiting pods when they are deleted', async () => {
    await bed.createPod('waits', { annotations: { [ovn('ip_address')]: '10.16.0.102' } });
    await bed.event('AcquireAddressFailed', 'waits', /10\.16\.0\.102 .* used by by-hand/);
    await removePort('by-hand');
    await eventually('the address', async () => {
      const { status } = await bed.kube.get(pods, { namespace: 'default', name: 'waits' });
      return addressConditionOf(status)?.status === 'True';
    });
    assert.equal(await ask({ ip_address: '10.16.0.100', mac_address: '0a:00:00:00:01:00' }), '10.16.0.100');
  });

  test('get an address that a pod holds only after the pod is deleted', async () => {
    await addPort('late', { addresses: ['0a:00:00:00:01:02 10.16.0.102 10.16.0.109'] });
    await eventually('the other address', async () => (await ask({ ip_address: '10.16.0.109' })) === 'AddressConflict');
    assert.match(String(bed.row('Logical_Switch_Port', 'waits.default')?.['addresses']), / 10\.16\.0\.102$/);
    await bed.deletePod('waits');
    await eventually('no port', () => bed.row('Logical_Switch_Port', 'waits.default') === undefined);
    assert.equal(await ask({ ip_address: '10.16.0.102' }), 'AddressConflict');
  });
});

describe('foreign entries in rows of Isthmus', () => {
  const entry = { 'of-another': 'x' };
  const read = (table: string, name: string, column: string): Readonly<Record<string, string>> =>
    (bed.row(table, name)?.[column] ?? {}) as Readonly<Record<string, string>>;
  const places = [
    ['Logical_Switch_Port', 'kept.default', 'external_ids'],
    ['Logical_Switch_Port', 'kept.default', 'options'],
    ['Logical_Switch_Port', 'ovn-default-ovn-cluster', 'options'],
    ['Logical_Switch', 'ovn-default', 'external_ids'],
    ['Logical_Router', 'ovn-cluster', 'external_ids'],
    ['Logical_Router', 'ovn-cluster', 'options'],
    ['Logical_Router_Port', 'ovn-cluster-ovn-default', 'external_ids'],
  ] as const;

  test('stay through edits and a restart, unlike unwanted entries of Isthmus', async () => {
    await bed.createPod('kept', { annotations: { [ovn('port_vips')]: '10.16.0.200' } });
    await bed.address('kept');
    for (const [table, name, column] of places)
      await bed.nb.transact([
        { op: 'mutate', table, where: [['name', '==', name]], mutations: [[column, 'insert', entry]] },
      ]);
    const areThere = (): void => {
      for (const [table, name, column] of places)
        assert.equal(read(table, name, column)['of-another'], 'x', `${column} of ${name}`);
    };
    assert.equal(read('Logical_Switch_Port', 'kept.default', 'external_ids')['vips'], '10.16.0.200');
    const annotations = { [ovn('port_vips')]: null };
    await bed.kube.patch(pods, { namespace: 'default', name: 'kept' }, 'merge', { metadata: { annotations } });
    const ids = (): Readonly<Record<string, string>> => read('Logical_Switch_Port', 'kept.default', 'external_ids');
    await eventually('no vips', () => ids()['vips'] === undefined);
    areThere();
    await bed.quiet();
    await bed.kill();
    const stale = { vips: '10.16.0.201' };
    const where = [['name', '==', 'kept.default']] as const;
    await bed.nb.transact([
      { op: 'mutate', table: 'Logical_Switch_Port', where, mutations: [['external_ids', 'insert', stale]] },
    ]);
    await bed.start();
    await eventually('no vips', () => ids()['vips'] === undefined);
    await bed.quiet();
    areThere();
  });
});
