import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Plans } from './plans.ts';
import { ref, type Contribution, type Desired } from './row.ts';

const into = (key: string, port: string): Contribution => ({
  table: 'Port_Group',
  key,
  column: 'ports',
  values: [ref('Logical_Switch_Port', port)],
  required: true,
});

test('a plan reads back as it was set, whatever the form of its contributions', () => {
  const plans = new Plans();
  const set = { table: 'Address_Set', key: 'as', column: 'addresses' };
  const forms: readonly Desired[] = [
    { rows: [] },
    { rows: [], contributions: [] },
    {
      rows: [{ table: 'Address_Set', key: 'as', columns: {} }],
      contributions: [
        into('pg', 'p1'),
        { ...into('pg', 'p1'), required: false },
        { table: 'Port_Group', key: 'pg', column: 'ports', values: [ref('Logical_Switch_Port', 'p1')] },
        { ...set, values: ['10.0.0.1'] },
        { ...set, values: [''] },
        { ...set, values: [7] },
        { ...set, values: [false] },
        { ...set, values: ['10.0.0.1', '10.0.0.2'] },
        { ...set, values: [] },
        { table: 'Load_Balancer', key: 'lb', column: 'vips', entries: { 'a:1': 'b:2', 'c:3': null } },
        { table: 'NB_Global', key: 'nb', column: 'name', value: null },
        { required: true, values: ['another order'], ...set },
      ],
    },
  ];
  for (const [index, desired] of forms.entries()) {
    plans.replace(`owner/${index}`, desired);
    const plain = plans.desiredOf(`owner/${index}`)?.plain();
    assert.deepEqual(plain, desired);
    assert.equal(JSON.stringify(plain), JSON.stringify(desired));
  }
});

test('members that look like ids of others are distinguished', () => {
  const plans = new Plans();
  const set = { table: 'Address_Set', key: 'as', column: 'addresses' };
  const values = ['@a', '=@a', '.a', '!', '', '=', 'a', 1, true, '1'];
  for (const [index, value] of values.entries())
    plans.replace(`o${index}`, { rows: [], contributions: [{ ...set, values: [value] }] });
  const holders = plans.contributions.column(set.table, set.key, set.column)?.holders;
  assert.deepEqual(
    [...(holders?.values() ?? [])],
    values.map((_, index) => `o${index}`),
  );
});

/** Heap in use after a garbage collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let time = 0; time < 3; time += 1) collect();
  return process.memoryUsage().heapUsed;
}

/** Bytes of ten thousand plans, each with a port, and what `contributions` gives of it. */
function bytesOf(contributions: (index: number, port: string) => readonly Contribution[]): number {
  const before = heapBytes();
  const plans = new Plans();
  for (let index = 0; index < owners; index += 1) {
    const port = `p${index}.ns`;
    const row = { table: 'Logical_Switch_Port', key: port, columns: {} };
    const owner = ['controller/pod/ns', `p${index}`].join('/');
    plans.replace(owner, { rows: [row], contributions: contributions(index, port) });
    plans.commit(owner, plans.desiredOf(owner));
  }
  const bytes = heapBytes() - before;
  assert.equal([...plans.owners()].length, owners);
  return bytes;
}

const owners = 10_000;

test('a membership takes at most a hundred bytes', (context) => {
  const address = (index: number): string => `10.16.${index >> 8}.${index & 255}`;
  const inGroup = (index: number, port: string, group: string): readonly Contribution[] => [
    into(group, port),
    {
      table: 'Address_Set',
      key: `${group}.associated.v4`,
      column: 'addresses',
      values: [address(index)],
      required: true,
    },
  ];
  const guarded = (index: number, port: string): readonly Contribution[] => [
    into('ovn.sg.kubeovn_deny_all', port),
    ...inGroup(index, port, `ovn.sg.sg${index % 1000}`),
    ...inGroup(index, port, `ovn.sg.sg${(index * 7 + 1) % 1000}`),
  ];
  // The texts of the addresses are the plan's own.
  const texts = (index: number): readonly Contribution[] => [
    { table: 'Address_Set', key: 'all', column: 'addresses', values: [address(index)], required: true },
  ];
  const difference = (): number =>
    (bytesOf((index, port) => [...texts(index), ...guarded(index, port)]) - bytesOf(texts)) / owners / 5;
  // What else is on the heap comes and goes by itself.
  const [, middle = Infinity] = [difference(), difference(), difference()].sort((a, b) => a - b);
  context.diagnostic(`${middle.toFixed(0)} bytes`);
  assert.ok(middle < 100, `${middle} bytes`);
});
