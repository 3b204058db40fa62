import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { View } from '../../model/view.ts';
import { isolationFeature } from './isolation.ts';

const rowsOf = (dropSamples: boolean) => {
  const capabilities = { aclTier: true, ipv6Selection: true, loadBalancers: true, dropSamples };
  return isolationFeature.plan?.({ capabilities } as View, 'all').rows ?? [];
};

describe('the drop of isolated ports', () => {
  it('writes no column about samples unless they are asked for', () => {
    const rows = rowsOf(false);
    assert.ok(rows.every(({ table }) => table === 'Port_Group' || table === 'ACL'));
    for (const { columns } of rows)
      for (const column of ['log', 'meter', 'severity', 'name']) assert.ok(!(column in columns), column);
  });

  it('is sampled through a meter, and what passes is not', () => {
    const rows = rowsOf(true);
    const acls = rows.filter(({ table }) => table === 'ACL');
    const sampled = acls.filter(({ columns }) => columns['log'] === true);
    assert.deepEqual(
      sampled.map(({ columns }) => columns['action']),
      ['drop', 'drop', 'drop', 'drop'],
    );
    assert.ok(acls.every(({ columns }) => (columns['action'] === 'drop') === 'meter' in columns));
    const [meter, band] = rows;
    assert.deepEqual([meter?.table, meter?.key, meter?.columns['fair']], ['Meter', sampled[0]?.columns['meter'], true]);
    assert.deepEqual([band?.table, band?.columns['rate']], ['Meter_Band', 5]);
    const names = new Set(sampled.map(({ columns }) => columns['name']));
    assert.deepEqual([...names], ['isolation ingress', 'isolation egress']);
    const keys = new Set([...rowsOf(false), ...rows].filter(({ table }) => table === 'ACL').map(({ key }) => key));
    assert.equal(keys.size, acls.length + sampled.length, 'a sampled ACL is another row');
  });
});
