import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import { ref, type Desired } from './row.ts';

const pods = 10_000;

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

function plan(target: OvsdbTarget): void {
  target.set('subnet/ls', { rows: [{ table: 'Logical_Switch', key: 'ls', columns: {} }] });
  target.set('group/pg', { rows: [{ table: 'Port_Group', key: 'pg', columns: {}, collects: ['ports'] }] });
  target.set('set/as', { rows: [{ table: 'Address_Set', key: 'as', columns: {}, collects: ['addresses'] }] });
  for (let i = 0; i < pods; i++) target.set(`pod/p${i}`, pod(i));
  target.seal();
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

describe('ten thousand owners of one switch, group and address set', () => {
  let bed: NorthboundBed;
  let target: OvsdbTarget;

  before(async () => {
    bed = await NorthboundBed.start();
    target = await bed.reset();
    plan(target);
    await target.untilApplied();
  });
  after(() => bed.stop());

  it('are written in batches, one mutation a column', () => {
    assert.equal(bed.ports('Port_Group', 'pg').length, pods);
    const operations = bed.transactions.reduce((sum, count) => sum + count, 0);
    assert.ok(operations < pods * 1.02, `${operations} operations`);
  });

  it('pass through a start with nothing to write, well under a second of CPU', async () => {
    bed.transactions.length = 0;
    target = bed.open();
    const before = cpuMs();
    plan(target);
    await target.untilApplied();
    const ms = cpuMs() - before;
    assert.deepEqual(bed.transactions, []);
    assert.ok(ms < 1000, `${ms} ms`);
  });

  it('cost a change of one nothing for the others', async () => {
    const original = bed.client.transact.bind(bed.client);
    let sentMs = 0;
    bed.client.transact = (...call) => {
      sentMs += cpuMs() - before;
      return original(...call);
    };
    let before = 0;
    for (let i = 0; i < 50; i++) {
      before = cpuMs();
      target.set(`pod/p${i}`, pod(i, `10.99.0.${i}`));
      await target.untilApplied();
    }
    bed.client.transact = original;
    // Looking at all members once takes about 5 ms.
    assert.ok(sentMs / 50 < 3, `${sentMs / 50} ms of CPU from the plan to the transaction`);
    assert.ok([bed.named('Address_Set', 'as')?.['addresses']].flat().includes('10.99.0.49'));
  });
});
