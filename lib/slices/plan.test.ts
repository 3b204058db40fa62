import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bgpNodeStates, bgpRouteSlices } from '../kube/resources.ts';
import { randomOf } from '../testing-random.ts';
import { mostSliceBytes, planSlices, type SlicePlan } from './plan.ts';
import type { Slice, SlicedKind } from './slice.ts';

interface Entry {
  readonly key: string;
  readonly value: number;
  readonly text?: string;
}

const kind: SlicedKind<Entry> = {
  owners: bgpNodeStates,
  slices: bgpRouteSlices,
  label: 'owner',
  mostEntries: 10,
  parse: () => [],
  sample: () => [],
  keyOf: ({ key }) => key,
};
const owner = { name: 'n1', uid: 'u' };

const entries = (from: number, to: number, value = 0): readonly Entry[] =>
  Array.from({ length: to - from }, (_, at) => ({ key: String(from + at).padStart(4, '0'), value }));

/** The same plan, with the writes whose order does not matter the other way round. */
function turned({ writes, deletes }: SlicePlan<Entry>): SlicePlan<Entry> {
  const [gaining, others] = [true, false].map((which) => writes.filter(({ isGaining }) => isGaining === which));
  return { writes: [...(gaining ?? []).toReversed(), ...(others ?? []).toReversed()], deletes: deletes.toReversed() };
}

/** What the API server has after each step of a plan. */
function* steps(slices: readonly Slice<Entry>[], { writes, deletes }: SlicePlan<Entry>): Generator<Slice<Entry>[]> {
  const present = new Map(slices.map((slice) => [slice.name, slice]));
  for (const { name, entries: all, isNew } of writes) {
    assert.equal(present.has(name), !isNew);
    present.set(name, { name, version: '1', owner, isLabelled: true, entries: all });
    yield [...present.values()];
  }
  for (const name of deletes) {
    assert.ok(present.delete(name));
    yield [...present.values()];
  }
}

function after(slices: readonly Slice<Entry>[], plan: SlicePlan<Entry>): readonly Slice<Entry>[] {
  return [slices, ...steps(slices, plan)].at(-1) ?? [];
}

function made(wanted: readonly Entry[]): readonly Slice<Entry>[] {
  return after([], planSlices(kind, owner, wanted, []));
}

const nothing = { writes: [], deletes: [] };

describe('planSlices', () => {
  it('fills slices up to the limit, in order', () => {
    const slices = made(entries(0, 25).toReversed());
    assert.deepEqual(
      slices.map(({ name, entries: held }) => [name, held.length, held[0]?.key]),
      [
        ['n1.0', 10, '0000'],
        ['n1.1', 10, '0010'],
        ['n1.2', 5, '0020'],
      ],
    );
  });

  it('writes nothing if all entries agree, in whatever slices they are', () => {
    const slices = made(entries(0, 25));
    assert.deepEqual(planSlices(kind, owner, entries(0, 25), slices.toReversed()), nothing);
    const scattered: Slice<Entry>[] = entries(0, 5).map((entry) => {
      return { name: `n1.${7 - Number(entry.key)}`, version: '1', owner, isLabelled: true, entries: [entry] };
    });
    assert.deepEqual(planSlices(kind, owner, entries(0, 5), scattered), nothing);
  });

  it('rewrites one slice if one entry changed or is gone', () => {
    const slices = made(entries(0, 30));
    const other = entries(0, 30).map((entry) => (entry.key === '0014' ? { ...entry, value: 1 } : entry));
    const edit = planSlices(kind, owner, other, slices);
    assert.deepEqual([edit.writes.map(({ name }) => name), edit.deletes], [['n1.1'], []]);
    const gone = entries(0, 30).filter(({ key }) => key !== '0002');
    const removal = planSlices(kind, owner, gone, slices);
    assert.deepEqual([removal.writes.map(({ name }) => name), removal.deletes], [['n1.0'], []]);
  });

  it('puts new entries into gaps: first of slices that are written anyway, then of the fullest that takes all', () => {
    const slices = made(entries(0, 30));
    const swap = planSlices(kind, owner, [...entries(1, 30), ...entries(90, 91)], slices);
    assert.deepEqual(
      swap.writes.map(({ name, entries: held }) => [name, held.at(-1)?.key]),
      [['n1.0', '0090']],
    );
    const gaps = after(slices, planSlices(kind, owner, [...entries(3, 18), ...entries(20, 30)], slices));
    const two = planSlices(kind, owner, [...entries(3, 18), ...entries(20, 30), ...entries(90, 92)], gaps);
    assert.deepEqual(
      two.writes.map(({ name }) => name),
      ['n1.1'],
    );
  });

  it('deletes slices that become empty, except the last one, which shows that there are no entries', () => {
    const slices = made(entries(0, 30));
    const few = planSlices(kind, owner, entries(12, 14), slices);
    assert.deepEqual([few.writes.map(({ name }) => name), few.deletes], [['n1.1'], ['n1.0', 'n1.2']]);
    const none = planSlices(kind, owner, [], slices);
    assert.deepEqual(
      [none.writes, none.deletes],
      [[{ name: 'n1.0', entries: [], isNew: false, isGaining: false }], ['n1.1', 'n1.2']],
    );
    assert.deepEqual(planSlices(kind, owner, [], after(slices, none)), nothing);
    assert.deepEqual(planSlices(kind, owner, [], []).writes, [
      { name: 'n1.0', entries: [], isNew: true, isGaining: true },
    ]);
  });

  it('takes over slices of an earlier object of the name, with none of what they hold', () => {
    const earlier = made(entries(0, 30)).map((slice) => ({ ...slice, owner: { name: 'n1', uid: 'earlier' } }));
    const plan = planSlices(kind, owner, entries(50, 65), earlier);
    assert.deepEqual(
      plan.writes.map(({ name, isNew, entries: held }) => [name, isNew, held.length]),
      [
        ['n1.0', false, 10],
        ['n1.1', false, 5],
      ],
    );
    assert.deepEqual(plan.deletes, ['n1.2']);
  });

  it('writes a slice whose label was removed', () => {
    const slices = made(entries(0, 20)).map((slice, at) => ({ ...slice, isLabelled: at !== 1 }));
    assert.deepEqual(
      planSlices(kind, owner, entries(0, 20), slices).writes.map(({ name }) => name),
      ['n1.1'],
    );
  });

  it('keeps an entry that two slices have in one of them', () => {
    const [first, second] = made(entries(0, 20)) as [Slice<Entry>, Slice<Entry>];
    const double = { ...second, entries: [...entries(9, 10), ...entries(11, 20)] };
    const plan = planSlices(kind, owner, [...entries(0, 10), ...entries(11, 20)], [first, double]);
    assert.deepEqual(plan, {
      writes: [{ name: 'n1.1', entries: entries(11, 20), isNew: false, isGaining: false }],
      deletes: [],
    });
  });

  it('keeps slices small whatever text entries carry; what moves is written to its new slice first', () => {
    const slices = made(entries(0, 3));
    const long = entries(0, 3).map((entry) => ({ ...entry, text: 'x'.repeat(mostSliceBytes / 2) }));
    const plan = planSlices(kind, owner, long, slices);
    assert.deepEqual(
      plan.writes.map(({ name, entries: held }) => [name, held.map(({ key }) => key)]),
      [
        ['n1.1', ['0001']],
        ['n1.2', ['0002']],
        ['n1.0', ['0000']],
      ],
    );
  });

  it('holds exactly the wanted entries after any change, and in no step lacks one that stays', () => {
    const random = randomOf(7);
    let slices: readonly Slice<Entry>[] = [];
    let before = new Set<string>();
    for (let round = 0; round < 100; round += 1) {
      const text = (): { text?: string } => (random(20) === 0 ? { text: 'x'.repeat(random(mostSliceBytes)) } : {});
      const wanted = entries(0, 60)
        .filter(() => random(5) > round % 5)
        .map((entry) => ({ ...entry, value: random(3), ...text() }));
      const plan = planSlices(kind, owner, wanted, slices);
      const keys = new Set(wanted.map(({ key }) => key));
      const staying = [...before].filter((key) => keys.has(key));
      for (const step of [...steps(slices, plan), ...steps(slices, turned(plan))]) {
        const held = new Set(step.flatMap((slice) => slice.entries.map(({ key }) => key)));
        for (const key of staying) assert.ok(held.has(key), `round ${round}: ${key} is in no slice`);
      }
      slices = after(slices, plan);
      const held = slices.flatMap((slice) => slice.entries).toSorted((a, b) => (a.key < b.key ? -1 : 1));
      assert.deepEqual(held, wanted, `round ${round}`);
      for (const { entries: all } of slices) assert.ok(all.length <= kind.mostEntries);
      assert.deepEqual(planSlices(kind, owner, wanted, slices), nothing, `round ${round}, again`);
      before = keys;
    }
  });
});
