import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Operation } from 'ovsdb-client';
import { openDryRun } from './dry-run.ts';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import type { Desired, DesiredRow } from './row.ts';

const vendor = { vendor: 'kube-ovn' };

function policy(key: string, match: string, more: Partial<DesiredRow> = {}): DesiredRow {
  return {
    table: 'Logical_Router_Policy',
    key,
    columns: { priority: 100, match, action: 'allow', external_ids: { ...vendor, 'vpc-policy': 'x' } },
    parent: { table: 'Logical_Router', key: 'lr', column: 'policies' },
    adopts: ['priority', 'match'],
    ...more,
  };
}

/** A router of another product with policies of these matches. */
function theirRouter(name: string, matches: readonly string[], ids: Record<string, string> = vendor): Operation[] {
  return [
    ...matches.map((match, index): Operation => {
      const row = { priority: 100, match, action: 'drop', external_ids: ids };
      return { op: 'insert', table: 'Logical_Router_Policy', row, uuidName: `p${index}` };
    }),
    {
      op: 'insert',
      table: 'Logical_Router',
      row: { name, policies: matches.map((_, index) => ({ named: `p${index}` })) },
    },
  ];
}

describe('rows of another product', () => {
  let bed: NorthboundBed;
  let target: OvsdbTarget;

  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());
  beforeEach(async () => {
    target = await bed.reset();
  });

  const router: DesiredRow = { table: 'Logical_Router', key: 'lr', columns: {} };
  const policies = (): readonly (readonly [string, unknown, unknown])[] =>
    bed
      .rows('Logical_Router_Policy')
      .map((row): readonly [string, unknown, unknown] => [row._uuid, row['match'], row['action']])
      .sort((a, b) => String(a[1]).localeCompare(String(b[1])));

  it('of twins each stays what it is', async () => {
    const rows = ['drop', 'allow'].map((action, index): Operation => {
      const row = { priority: 100, match: 'a', action, external_ids: vendor };
      return { op: 'insert', table: 'Logical_Router_Policy', row, uuidName: `p${index}` };
    });
    const theirs = { name: 'lr', policies: [{ named: 'p0' }, { named: 'p1' }] };
    await bed.write(...rows, { op: 'insert', table: 'Logical_Router', row: theirs });
    const before = policies();
    const drop = policy('two', 'a', { columns: { priority: 100, match: 'a', action: 'drop', external_ids: vendor } });
    for (const twins of [
      [policy('one', 'a'), drop],
      [drop, policy('one', 'a')],
    ]) {
      const report = openDryRun({ client: bed.client, room: 'room' });
      report.set('vpc/lr', { rows: [router, ...twins] });
      const changed = report.report().changes.flatMap(({ columns }) => Object.keys(columns));
      assert.ok(!changed.includes('action'), 'whatever their order');
    }
    target.set('vpc/lr', { rows: [router, policy('one', 'a'), drop] });
    await target.untilApplied();
    assert.deepEqual(policies(), before);
  });

  it('are adopted by content, aligned, and owned from then on', async () => {
    await bed.write(...theirRouter('lr', ['a', 'b']));
    const uuids = policies().map(([uuid]) => uuid);
    target.set('vpc/lr', { rows: [router, policy('one', 'a'), policy('two', 'b')] });
    target.seal();
    await target.untilApplied();
    assert.deepEqual(
      policies(),
      [
        [uuids[0], 'a', 'allow'],
        [uuids[1], 'b', 'allow'],
      ],
      'same rows, our action',
    );
    const ids = bed.rows('Logical_Router_Policy').find(({ match }) => match === 'a')?.['external_ids'];
    assert.deepEqual(ids, {
      'isthmus-key': 'one',
      'isthmus-owner': 'room/vpc/lr',
      vendor: 'kube-ovn',
      'vpc-policy': 'x',
    });
    target.set('vpc/lr', { rows: [router] });
    await target.untilApplied();
    assert.deepEqual(policies(), []);
  });

  for (const batchSize of [1, 500])
    it(`are adopted by one wanted row each, ${batchSize} owners a transaction`, async () => {
      await bed.write(...theirRouter('lr', ['a', 'a', 'b']));
      const theirs = new Set(policies().map(([uuid]) => uuid));
      target = bed.open({ batchSize });
      target.set('vpc/lr', { rows: [router] });
      for (let i = 0; i < 3; i++)
        target.set(`route/${i}`, { rows: [policy(`key${i}`, 'a'), policy(`other${i}`, 'b')] });
      target.seal();
      await target.untilApplied();
      assert.equal(policies().length, 6);
      assert.equal(policies().filter(([uuid]) => theirs.has(uuid)).length, 3);
    });

  it('stay unchanged if they have an owner or another parent', async () => {
    await bed.write(...theirRouter('lr', ['a'], { 'isthmus-owner': 'other/a/b' }));
    await bed.write(...theirRouter('theirs', ['a']));
    const theirs = policies().map(([uuid]) => uuid);
    target.set('vpc/lr', { rows: [router, policy('one', 'a')] });
    await target.untilApplied();
    assert.equal(policies().length, 3);
    assert.equal(policies().filter(([uuid, , action]) => theirs.includes(uuid) && action === 'drop').length, 2);
  });

  it('stay unchanged if another product marked them, and are adopted without a mark', async () => {
    await bed.write(...theirRouter('lr', ['a'], { 'made-by': 'somebody' }));
    await bed.write(...theirRouter('lr2', ['a'], {}));
    const onSecond = { parent: { table: 'Logical_Router', key: 'lr2', column: 'policies' } };
    const rows = [router, { ...router, key: 'lr2' }, policy('one', 'a'), policy('two', 'a', onSecond)];
    target.set('vpc/both', { rows });
    await target.untilApplied();
    assert.equal(policies().length, 3);
    assert.equal(policies().filter(([, , action]) => action === 'drop').length, 1);
  });

  it('may appear later: rows that appear after the start are adopted', async () => {
    target.set('vpc/lr', { rows: [router, policy('one', 'a')] });
    await target.untilApplied();
    await bed.write(
      {
        op: 'insert',
        table: 'Logical_Router_Policy',
        row: { priority: 100, match: 'z', action: 'drop' },
        uuidName: 'z',
      },
      { op: 'mutate', table: 'Logical_Router', where: [], mutations: [['policies', 'insert', [{ named: 'z' }]]] },
    );
    target.set('vpc/lr', { rows: [router, policy('one', 'a'), policy('two', 'z')] });
    await target.untilApplied();
    assert.deepEqual(
      policies().map(([, match, action]) => [match, action]),
      [
        ['a', 'allow'],
        ['z', 'allow'],
      ],
    );
  });

  it('are distinguished by one entry of a map; rows of root tables need no parent', async () => {
    const options = (subnet: string): Operation => ({
      op: 'insert',
      table: 'DHCP_Options',
      row: { cidr: '10.0.0.0/16', external_ids: { ...vendor, ls: subnet } },
    });
    await bed.write(options('a'), options('b'));
    const uuidOf = (ls: string): string | undefined =>
      bed.rows('DHCP_Options').find((row) => (row['external_ids'] as Record<string, string>)['ls'] === ls)?._uuid;
    const before = [uuidOf('a'), uuidOf('b')];
    const wants = (ls: string): Desired => ({
      rows: [
        {
          table: 'DHCP_Options',
          key: ls,
          columns: { cidr: '10.0.0.0/16', options: { mtu: '1400' }, external_ids: { ...vendor, ls } },
          adopts: ['cidr', 'external_ids:ls'],
        },
      ],
    });
    for (const ls of ['b', 'a', 'c']) target.set(`subnet/${ls}`, wants(ls));
    await target.untilApplied();
    assert.deepEqual([uuidOf('a'), uuidOf('b')], before);
    assert.equal(bed.rows('DHCP_Options').length, 3);
  });

  it('keep values that are wanted only for new rows', async () => {
    const port = (key: string): DesiredRow => ({
      table: 'Logical_Router_Port',
      key,
      columns: { networks: ['10.0.0.1/24'] },
      initial: { mac: '06:00:00:00:00:01' },
      parent: { table: 'Logical_Router', key: 'lr', column: 'ports' },
    });
    await bed.write(
      { op: 'insert', table: 'Logical_Router_Port', row: { name: 'old', mac: '00:00:00:00:00:aa' }, uuidName: 'old' },
      { op: 'insert', table: 'Logical_Router', row: { name: 'lr', ports: [{ named: 'old' }] } },
    );
    target.set('vpc/lr', { rows: [router, port('old'), port('new')] });
    await target.untilApplied();
    assert.equal(bed.named('Logical_Router_Port', 'old')?.['mac'], '00:00:00:00:00:aa');
    assert.deepEqual(bed.named('Logical_Router_Port', 'old')?.['networks'], ['10.0.0.1/24']);
    assert.equal(bed.named('Logical_Router_Port', 'new')?.['mac'], '06:00:00:00:00:01');
    await bed.write({ op: 'update', table: 'Logical_Router_Port', where: [], row: { mac: '00:00:00:00:00:bb' } });
    await target.untilApplied();
    assert.equal(bed.named('Logical_Router_Port', 'new')?.['mac'], '00:00:00:00:00:bb', 'not ours any more');
  });
});
