import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { randomOf, type Random } from '../testing-random.ts';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import type { Desired } from './row.ts';

type Entries = Readonly<Record<string, string>>;

interface ModelOwner {
  readonly createdMs: number;
  /** By switch, what it wants in other_config. */
  readonly wants: Readonly<Record<string, Entries>>;
}

const switches = ['s0', 's1'];
const entryNames = ['e0', 'e1', 'e2', 'e3'];

class Model {
  readonly owners = new Map<string, ModelOwner>();

  plans(): Map<string, Desired> {
    const plans = new Map<string, Desired>(
      switches.map((key) => [
        `switch/${key}`,
        { rows: [{ table: 'Logical_Switch', key, columns: {}, collects: ['other_config'] }] },
      ]),
    );
    for (const [owner, { createdMs, wants }] of this.owners)
      plans.set(owner, {
        rows: [],
        contributions: Object.entries(wants).map(([key, entries]) => ({
          table: 'Logical_Switch',
          key,
          column: 'other_config',
          entries,
        })),
        createdMs,
      });
    return plans;
  }

  /** Owners of an entry with the values that they want, the oldest first. */
  bids(
    key: string,
    entry: string,
  ): readonly { readonly owner: string; readonly createdMs: number; readonly value: string }[] {
    return [...this.owners]
      .flatMap(([owner, { createdMs, wants }]) => {
        const value = wants[key]?.[entry];
        return value === undefined ? [] : [{ owner, createdMs, value }];
      })
      .toSorted((a, b) => a.createdMs - b.createdMs);
  }
}

function mutate(model: Model, next: Random): void {
  const owner = `svc/o${next(8)}`;
  if (next(4) === 0) {
    model.owners.delete(owner);
    return;
  }
  // Few ages, so that some owners are of the same one; an object keeps its age.
  const createdMs = model.owners.get(owner)?.createdMs ?? 1 + next(4);
  const wanted = switches.flatMap((key) => {
    const entries = entryNames.flatMap((entry) => (next(2) === 0 ? [[entry, `v${next(3)}`] as const] : []));
    return entries.length === 0 ? [] : [[key, Object.fromEntries(entries)] as const];
  });
  model.owners.set(owner, { createdMs, wants: Object.fromEntries(wanted) });
}

function shuffled<T>(list: readonly T[], next: Random): readonly T[] {
  return list
    .map((one) => [next(1_000_000), one] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, one]) => one);
}

describe('random plans that want the same entries', () => {
  let bed: NorthboundBed;
  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());

  const configs = (): Readonly<Record<string, Entries>> =>
    Object.fromEntries(switches.map((key) => [key, bed.named('Logical_Switch', key)?.['other_config'] as Entries]));

  function check(model: Model, note: string): void {
    const losers = new Set<string>();
    const there = configs();
    for (const key of switches)
      for (const entry of entryNames) {
        const bids = model.bids(key, entry);
        const value = there[key]?.[entry];
        const oldest = bids.filter(({ createdMs }) => createdMs === bids[0]?.createdMs).map((bid) => bid.value);
        if (bids.length === 0) assert.equal(value, undefined, `${note}: no owner wants ${entry} of ${key}`);
        else assert.ok(value !== undefined && oldest.includes(value), `${note}: ${entry} of ${key} is ${value}`);
        for (const bid of bids) if (bid.value !== value) losers.add(bid.owner);
      }
    const refused = [...bed.problems].flatMap(([owner, problem]) => (problem === undefined ? [] : [owner]));
    assert.deepEqual(refused.filter((owner) => model.owners.has(owner)).sort(), [...losers].sort(), note);
    for (const owner of refused) assert.equal(bed.problems.get(owner)?.code, 'EntryWantedTwice', note);
  }

  async function interfere(next: Random): Promise<void> {
    const config = Object.fromEntries(entryNames.filter(() => next(2) === 0).map((entry) => [entry, `v${next(4)}`]));
    const where = [['name', '==', `s${next(2)}`]] as const;
    await bed.write({ op: 'update', table: 'Logical_Switch', where, row: { other_config: config } });
  }

  function send(target: OvsdbTarget, sent: Map<string, Desired>, model: Model): Map<string, Desired> {
    const plans = model.plans();
    for (const owner of sent.keys()) if (!plans.has(owner)) target.drop(owner);
    for (const [owner, desired] of plans)
      if (JSON.stringify(sent.get(owner)) !== JSON.stringify(desired)) target.set(owner, desired);
    return plans;
  }

  for (let seed = 1; seed <= 8; seed++) {
    it(`end with the oldest owner's value, also over restarts, and no gap between two owners (seed ${seed})`, async () => {
      const next = randomOf(seed);
      const model = new Model();
      await bed.reset();
      let target = bed.open({ batchSize: 1 + next(4) });
      target.seal();
      let sent = new Map<string, Desired>();
      let wantedThroughout = new Set<string>();
      const gaps: string[] = [];
      const unwatch = bed.client.subscribe(() => {
        const there = configs();
        for (const name of wantedThroughout) {
          const [key = '', entry = ''] = name.split(' ');
          if (there[key]?.[entry] === undefined) gaps.push(name);
        }
      });
      const wanted = (): string[] =>
        switches.flatMap((key) =>
          entryNames.filter((entry) => model.bids(key, entry).length > 0).map((entry) => `${key} ${entry}`),
        );
      for (let round = 0; round < 40; round++) {
        const note = `seed ${seed}, round ${round}`;
        wantedThroughout = new Set(wanted());
        for (let burst = next(4); burst >= 0; burst--) {
          for (let change = next(3); change >= 0; change--) mutate(model, next);
          const still = new Set(wanted());
          for (const name of wantedThroughout) if (!still.has(name)) wantedThroughout.delete(name);
          sent = send(target, sent, model);
          // Plans also change while a transaction is on its way.
          for (let turn = next(12); turn > 0; turn--) await setImmediate();
        }
        await target.untilApplied();
        check(model, note);
        wantedThroughout.clear();
        if (next(3) === 0) {
          await interfere(next);
          await target.untilApplied();
          check(model, `${note}, repaired`);
        }
        if (round % 4 === 3 || next(10) === 0) {
          const there = configs();
          bed.problems.clear();
          bed.transactions.length = 0;
          target = bed.open({ batchSize: 1 + next(4) });
          for (const [owner, desired] of shuffled([...sent], next)) target.set(owner, desired);
          target.seal();
          await target.untilApplied();
          assert.deepEqual([configs(), bed.transactions], [there, []], `${note}, restarted`);
          check(model, `${note}, restarted`);
        }
      }
      unwatch();
      assert.deepEqual(gaps, []);
    });
  }
});
