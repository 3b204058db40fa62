import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { openDryRun, type DryRunTarget } from './dry-run.ts';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import { ref } from './row.ts';

const ids = { vendor: 'kube-ovn' };

/** What Kube-OVN left, as the plans below see it: a router, a switch with ports, policies, a group. */
async function writeTheirs(bed: NorthboundBed): Promise<void> {
  const policy = (match: string) => ({ priority: 31000, match, action: 'allow', external_ids: ids });
  await bed.write(
    { op: 'insert', table: 'Logical_Router_Policy', row: policy('ip4.dst == 10.16.0.0/16'), uuidName: 'wanted' },
    { op: 'insert', table: 'Logical_Router_Policy', row: policy('ip4.dst == 9.9.9.9'), uuidName: 'unwanted' },
    {
      op: 'insert',
      table: 'Logical_Router',
      row: { name: 'ovn-cluster', policies: [{ named: 'wanted' }, { named: 'unwanted' }], external_ids: ids },
    },
    {
      op: 'insert',
      table: 'Logical_Switch_Port',
      row: { name: 'web.default', addresses: ['m 10.16.0.2'] },
      uuidName: 'web',
    },
    { op: 'insert', table: 'Logical_Switch_Port', row: { name: 'gone.default', external_ids: ids }, uuidName: 'gone' },
    {
      op: 'insert',
      table: 'Logical_Switch',
      row: { name: 'ovn-default', ports: [{ named: 'web' }, { named: 'gone' }] },
    },
    { op: 'insert', table: 'Port_Group', row: { name: 'group', ports: [{ named: 'gone' }], external_ids: ids } },
    { op: 'insert', table: 'Address_Set', row: { name: 'ours', external_ids: { 'isthmus-owner': 'room/set/old' } } },
  );
}

function plan(target: OvsdbTarget): void {
  const port = (key: string, address: string) => ({
    table: 'Logical_Switch_Port',
    key,
    columns: { addresses: [address] },
    parent: { table: 'Logical_Switch', key: 'ovn-default', column: 'ports' },
  });
  const member = (key: string) => ({
    table: 'Port_Group',
    key: 'group',
    column: 'ports',
    values: [ref('Logical_Switch_Port', key)],
    required: true,
  });
  for (const [name, address] of [
    ['web.default', 'm 10.16.0.2'],
    ['new.default', 'm 10.16.0.3'],
  ] as const)
    target.set(`pod/${name}`, { rows: [port(name, address)], contributions: [member(name)] });
  target.set('pod/lost', {
    rows: [{ ...port('lost', 'm 10.16.0.4'), parent: { table: 'Logical_Switch', key: 'nowhere', column: 'ports' } }],
  });
  target.set('subnet/ovn-default', { rows: [{ table: 'Logical_Switch', key: 'ovn-default', columns: {} }] });
  target.set('group/group', {
    rows: [{ table: 'Port_Group', key: 'group', columns: { external_ids: ids }, collects: ['ports'] }],
  });
  target.set('vpc/ovn-cluster', {
    rows: [
      {
        table: 'Logical_Router',
        key: 'ovn-cluster',
        columns: { options: { dynamic_neigh_routers: 'true' }, external_ids: ids },
        shared: ['options'],
      },
      {
        table: 'Logical_Router_Policy',
        key: 'local',
        columns: {
          priority: 31000,
          match: 'ip4.dst == 10.16.0.0/16',
          action: 'reroute',
          nexthops: ['100.64.0.2'],
          external_ids: ids,
        },
        parent: { table: 'Logical_Router', key: 'ovn-cluster', column: 'policies' },
        adopts: ['priority', 'match'],
      },
    ],
  });
  target.seal();
}

describe('a dry run', () => {
  let bed: NorthboundBed;
  let dry: DryRunTarget;
  let sent: number;

  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());
  beforeEach(async () => {
    await bed.reset();
    await writeTheirs(bed);
    sent = 0;
    const client = new Proxy(bed.client, {
      get: (of, name) => {
        if (name === 'transact') sent += 1;
        return Reflect.get(of, name) as unknown;
      },
    });
    dry = openDryRun({ client, room: 'room' });
  });

  it('reports inserts, adoptions, changes and deletions, and sends nothing', async () => {
    plan(dry);
    await dry.untilApplied();
    const { changes } = dry.report();
    assert.equal(sent, 0);
    assert.deepEqual(
      changes.map(({ action, table, key, owner }) => [action, table, key, owner]),
      [
        ['delete', 'Address_Set', 'ours', 'set/old'],
        ['adopt', 'Logical_Router', 'ovn-cluster', 'vpc/ovn-cluster'],
        ['adopt', 'Logical_Router_Policy', 'local', 'vpc/ovn-cluster'],
        ['adopt', 'Logical_Switch', 'ovn-default', 'subnet/ovn-default'],
        ['insert', 'Logical_Switch_Port', 'new.default', 'pod/new.default'],
        ['adopt', 'Logical_Switch_Port', 'web.default', 'pod/web.default'],
        ['adopt', 'Port_Group', 'group', 'group/group'],
      ],
    );
    const change = (table: string, key: string) => changes.find((one) => one.table === table && one.key === key);
    assert.deepEqual(change('Logical_Router_Policy', 'local')?.columns['action'], { from: 'allow', to: 'reroute' });
    assert.deepEqual(change('Logical_Router', 'ovn-cluster')?.members, {
      options: { added: ['dynamic_neigh_routers=true'], removed: [] },
    });
    assert.deepEqual(change('Port_Group', 'group')?.members, {
      ports: { added: ['new.default', 'web.default'], removed: ['gone.default'] },
    });
    assert.deepEqual(change('Logical_Switch', 'ovn-default')?.members, {}, 'the port tells where it goes');
    assert.equal(change('Logical_Switch_Port', 'new.default')?.parent?.key, 'ovn-default');
    assert.deepEqual(change('Logical_Switch_Port', 'web.default')?.columns, {
      external_ids: { from: {}, to: { 'isthmus-owner': 'room/pod/web.default' } },
    });
  });

  it('lists rows that stay unchanged, and rows that cannot be written', () => {
    plan(dry);
    const { leftAlone, problems } = dry.report();
    assert.deepEqual(leftAlone, [
      {
        table: 'Logical_Router_Policy',
        key: '',
        description: 'priority 31000, match ip4.dst == 9.9.9.9, action allow in Logical_Router ovn-cluster',
      },
      { table: 'Logical_Switch_Port', key: 'gone.default', description: 'in Logical_Switch ovn-default' },
    ]);
    assert.deepEqual(
      problems.map(({ owner, problem }) => [owner, problem.code]),
      [['pod/lost', 'WaitingForRow']],
    );
  });

  it('matches the real run: afterwards nothing is left to do', async () => {
    plan(dry);
    const report = dry.report();
    assert.deepEqual(dry.report(), report, 'the same every time');
    const target = bed.open();
    plan(target);
    await target.untilApplied();
    const again = openDryRun({ client: bed.client, room: 'room' });
    plan(again);
    assert.deepEqual(again.report().changes, []);
    assert.deepEqual(again.report().leftAlone, report.leftAlone);
  });
});
