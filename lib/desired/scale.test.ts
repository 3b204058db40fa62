import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cpuMsOf } from '../testing-growth.ts';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import { ref, type Desired } from './row.ts';

const pods = 10_000;
const fewPods = 500;
const changes = 50;

function pod(i: number, address = `10.0.${i >> 8}.${i & 255}`): Desired {
  return {
    rows: [
      {
        table: 'Logical_Switch_Port',
        key: `p${i}`,
        columns: { addresses: [`0a:00:00:00:00:01 ${address}`], external_ids: { vendor: 'kube-ovn' } },
        parent: { table: 'Logical_Switch', key: 'ls', column: 'ports' },
      },
    ],
    contributions: [
      { table: 'Port_Group', key: 'pg', column: 'ports', values: [ref('Logical_Switch_Port', `p${i}`)] },
      { table: 'Address_Set', key: 'as', column: 'addresses', values: [address] },
    ],
  };
}

function plan(target: OvsdbTarget, count: number): void {
  target.set('subnet/ls', { rows: [{ table: 'Logical_Switch', key: 'ls', columns: {} }] });
  target.set('group/pg', { rows: [{ table: 'Port_Group', key: 'pg', columns: {}, collects: ['ports'] }] });
  target.set('set/as', { rows: [{ table: 'Address_Set', key: 'as', columns: {}, collects: ['addresses'] }] });
  for (let i = 0; i < count; i++) target.set(`pod/p${i}`, pod(i));
  target.seal();
}

describe('ten thousand owners of one switch, group and address set', () => {
  let bed: NorthboundBed;
  let target: OvsdbTarget;

  before(async () => {
    bed = await NorthboundBed.start();
    target = await bed.reset();
    plan(target, pods);
    await target.untilApplied();
  });
  after(() => bed.stop());

  it('are written in batches, one mutation a column', () => {
    assert.equal(bed.ports('Port_Group', 'pg').length, pods);
    const operations = bed.transactions.reduce((sum, count) => sum + count, 0);
    assert.ok(operations < pods * 1.02, `${operations} operations`);
  });

  it('pass through a start with nothing to write', async (context) => {
    bed.transactions.length = 0;
    target = bed.open();
    const ms = await cpuMsOf(() => {
      plan(target, pods);
      return target.untilApplied();
    });
    context.diagnostic(`${ms.toFixed(0)} ms of CPU`);
    assert.deepEqual(bed.transactions, []);
  });

  it('cost a change of one nothing for the others', async (context) => {
    const many = await costOfChanges();
    assert.ok([bed.named('Address_Set', 'as')?.['addresses']].flat().includes('10.99.0.49'));
    target = await bed.reset();
    plan(target, fewPods);
    await target.untilApplied();
    const few = await costOfChanges();
    context.diagnostic(`${(many / changes).toFixed(2)} ms, of ${fewPods} owners ${(few / changes).toFixed(2)} ms`);
    // Looking at all others would be twenty times as much.
    assert.ok(many < 10 * few, `${many} ms of CPU, and ${few} ms of ${fewPods} owners`);
  });

  /** Milliseconds of CPU from plans to transactions, of a change each. */
  async function costOfChanges(): Promise<number> {
    const original = bed.client.transact.bind(bed.client);
    let before = process.cpuUsage();
    let sentUs = 0;
    bed.client.transact = (...call) => {
      const { user, system } = process.cpuUsage(before);
      sentUs += user + system;
      return original(...call);
    };
    for (let i = 0; i < changes; i++) {
      before = process.cpuUsage();
      target.set(`pod/p${i}`, pod(i, `10.99.0.${i}`));
      await target.untilApplied();
    }
    bed.client.transact = original;
    return sentUs / 1000;
  }
});

describe('rows of one owner', () => {
  let bed: NorthboundBed;

  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());

  it('are compared in a time that grows as their number does', async (context) => {
    const few = await costOfChange(2000);
    const many = await costOfChange(20_000);
    context.diagnostic(`${many.toFixed(0)} ms for 20,000 rows, ${few.toFixed(0)} ms for 2,000`);
    // A look at all rows of the former plan for each row would be a hundred times as much.
    assert.ok(many < 40 * few, `${many} ms of CPU, and ${few} ms for a tenth of the rows`);
  });

  /** Milliseconds of CPU, the least of a few, from a plan with another first row to the transaction. */
  async function costOfChange(rows: number): Promise<number> {
    const target = await bed.reset();
    const routes = (vendor: string): Desired => ({
      rows: [
        { table: 'Logical_Router', key: 'lr', columns: {} },
        ...Array.from({ length: rows }, (_, at) => ({
          table: 'Logical_Router_Static_Route',
          key: String(at),
          columns: {
            ip_prefix: `10.${String(at >> 8)}.${String(at & 255)}.0/24`,
            nexthop: '100.100.0.2',
            external_ids: { vendor: at === 0 ? vendor : 'isthmus' },
          },
          parent: { table: 'Logical_Router', key: 'lr', column: 'static_routes' },
        })),
      ],
    });
    target.set('remote/west', routes('first'));
    target.seal();
    await target.untilApplied();
    const times: number[] = [];
    for (const vendor of ['second', 'third', 'fourth'])
      times.push(
        await cpuMsOf(() => {
          target.set('remote/west', routes(vendor));
          return target.untilApplied();
        }),
      );
    return Math.min(...times);
  }
});
