import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import type { Desired, DesiredRow } from './row.ts';

const most = 100;
/** Operations of a transaction beside those of routes. */
const others = 5;
const table = 'Logical_Router_Static_Route';

function route(at: number, nexthop = '100.64.0.1'): DesiredRow {
  return {
    table,
    key: `r${at}`,
    columns: { ip_prefix: `10.${at >> 8}.${at & 255}.0/24`, nexthop },
    parent: { table: 'Logical_Router', key: 'lr', column: 'static_routes' },
  };
}

function routes(from: number, to: number, nexthop?: string): Desired {
  const all = Array.from({ length: to - from }, (_, at) => route(from + at, nexthop));
  return { rows: [{ table: 'Logical_Router', key: 'lr', columns: {} }, ...all] };
}

describe('an owner with very many rows', () => {
  let bed: NorthboundBed;
  let target: OvsdbTarget;
  const instalments = { tables: [table], rows: most };
  const prefixes = (): readonly unknown[] => bed.rows(table).map((row) => row['ip_prefix']);
  const open = (): OvsdbTarget => bed.open({ instalments });
  const apply = async (desired: Desired): Promise<void> => {
    bed.transactions.length = 0;
    target.set('cluster/west', desired);
    await target.untilApplied();
    const largest = Math.max(0, ...bed.transactions);
    assert.ok(largest <= most + others, `${largest} operations in one transaction`);
  };

  before(async () => {
    bed = await NorthboundBed.start();
    await bed.reset();
    target = open();
    target.seal();
  });
  after(() => bed.stop());

  it('is written in several transactions, and applied with the last', async () => {
    await apply(routes(0, 450));
    assert.equal(prefixes().length, 450);
    assert.equal(bed.transactions.length, 5);
    assert.equal([bed.named('Logical_Router', 'lr')?.['static_routes']].flat().length, 450);
    assert.equal(bed.problems.get('cluster/west'), undefined);
    assert.ok(bed.problems.has('cluster/west'));
  });

  it('is left as it is by a restart', async () => {
    bed.transactions.length = 0;
    target = open();
    target.set('cluster/west', routes(0, 450));
    target.seal();
    await target.untilApplied();
    assert.deepEqual(bed.transactions, []);
  });

  it('loses and gets rows at once, and a changed column of all of them in one transaction', async () => {
    await apply(routes(200, 700));
    const wanted = routes(200, 700).rows.slice(1);
    assert.deepEqual(new Set(prefixes()), new Set(wanted.map(({ columns }) => columns['ip_prefix'])));
    bed.transactions.length = 0;
    target.set('cluster/west', routes(200, 700, '100.64.0.2'));
    await target.untilApplied();
    assert.deepEqual(bed.transactions, [500]);
  });

  it('gets its newest plan when that comes between two parts', async () => {
    target.set('cluster/west', routes(0, 1000));
    const original = bed.client.transact.bind(bed.client);
    let sent = 0;
    bed.client.transact = async (...call) => {
      const answer = await original(...call);
      sent += 1;
      if (sent === 2) target.set('cluster/west', routes(0, 150));
      return answer;
    };
    await target.untilApplied();
    bed.client.transact = original;
    await target.untilApplied();
    assert.equal(prefixes().length, 150);
  });

  it('goes in parts, the rows that others refer to last', async () => {
    await apply(routes(0, 400));
    bed.transactions.length = 0;
    target.drop('cluster/west');
    await target.untilApplied();
    assert.deepEqual([prefixes().length, bed.named('Logical_Router', 'lr')], [0, undefined]);
    assert.equal(bed.transactions.length, 4);
    assert.ok(Math.max(...bed.transactions) <= most + others, bed.transactions.join());
  });

  it('leaves rows in parts after a restart without a plan for it', async () => {
    target = open();
    target.set('cluster/west', routes(0, 350));
    target.seal();
    await target.untilApplied();
    target = open();
    bed.transactions.length = 0;
    target.seal();
    await target.untilApplied();
    assert.equal(prefixes().length, 0);
    assert.ok(bed.transactions.length >= 4, bed.transactions.join());
  });
});
