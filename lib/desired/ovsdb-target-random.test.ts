import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { randomOf } from '../testing-random.ts';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import { ref, type Contribution, type Desired } from './row.ts';

interface ModelPod {
  readonly groups: readonly string[];
  readonly address: string;
}

/** What plans would say of pods that are in groups and give their address to a set. */
class Model {
  readonly pods = new Map<string, ModelPod>();
  readonly groups = new Set<string>();

  plans(): Map<string, Desired> {
    const plans = new Map<string, Desired>();
    plans.set('subnet/ls', { rows: [{ table: 'Logical_Switch', key: 'ls', columns: {} }] });
    plans.set('set/as', { rows: [{ table: 'Address_Set', key: 'as', columns: {}, collects: ['addresses'] }] });
    for (const key of this.groups)
      plans.set(`group/${key}`, { rows: [{ table: 'Port_Group', key, columns: {}, collects: ['ports'] }] });
    for (const [key, pod] of this.pods) plans.set(`pod/${key}`, podPlan(key, pod));
    return plans;
  }

  /** Pods whose groups are all there; the others wait, or keep what they had. */
  ready(): readonly (readonly [string, ModelPod])[] {
    return [...this.pods].filter(([, { groups }]) => groups.every((group) => this.groups.has(group)));
  }
}

function podPlan(key: string, { groups, address }: ModelPod): Desired {
  const member = (group: string): Contribution => ({
    table: 'Port_Group',
    key: group,
    column: 'ports',
    values: [ref('Logical_Switch_Port', key)],
    required: true,
  });
  return {
    rows: [
      {
        table: 'Logical_Switch_Port',
        key,
        columns: { addresses: [address] },
        parent: { table: 'Logical_Switch', key: 'ls', column: 'ports' },
      },
    ],
    contributions: [...groups.map(member), { table: 'Address_Set', key: 'as', column: 'addresses', values: [address] }],
  };
}

describe('random plans', () => {
  let bed: NorthboundBed;
  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());

  function mutate(model: Model, next: (end: number) => number): void {
    for (let change = next(6); change >= 0; change--) {
      const [pod, group] = [`p${next(12)}`, `g${next(4)}`];
      const what = next(10);
      if (what < 5) {
        const groups = [...new Set([`g${next(4)}`, `g${next(4)}`])].slice(0, 1 + next(2));
        model.pods.set(pod, { groups, address: `10.0.0.${next(15)}` });
      } else if (what < 7) model.pods.delete(pod);
      else if (what < 9) model.groups.add(group);
      else model.groups.delete(group);
    }
  }

  async function interfere(next: (end: number) => number): Promise<void> {
    const what = next(8);
    const port = { name: 'stray', addresses: ['unknown'] };
    if (what === 0) await bed.write({ op: 'update', table: 'Port_Group', where: [], row: { ports: [] } });
    if (what === 1) await bed.write({ op: 'update', table: 'Address_Set', where: [], row: { addresses: ['9.9.9.9'] } });
    if (what === 2) await bed.write({ op: 'delete', table: 'Port_Group', where: [['name', '==', 'g1']] });
    if (what === 3) await bed.write({ op: 'update', table: 'Logical_Switch', where: [], row: { ports: [] } });
    if (what === 4)
      await bed.write(
        { op: 'insert', table: 'Logical_Switch_Port', row: port, uuidName: 'stray' },
        { op: 'mutate', table: 'Logical_Switch', where: [], mutations: [['ports', 'insert', [{ named: 'stray' }]]] },
        { op: 'mutate', table: 'Port_Group', where: [], mutations: [['ports', 'insert', [{ named: 'stray' }]]] },
      );
    if (what === 4) await bed.write({ op: 'update', table: 'Logical_Switch', where: [], row: { ports: [] } });
  }

  function check(model: Model, note: string): void {
    const ready = model.ready();
    const rows = bed.ports('Logical_Switch', 'ls');
    for (const [key, { address }] of ready) {
      const row = bed.named('Logical_Switch_Port', key);
      assert.deepEqual(row?.['addresses'], [address], `${note}: ${key}`);
    }
    for (const key of rows) assert.ok(model.pods.has(key), `${note}: ${key} has no owner`);
    for (const group of model.groups) {
      const members = ready.filter(([, { groups }]) => groups.includes(group)).map(([key]) => key);
      const others = bed.ports('Port_Group', group).filter((key) => !members.includes(key));
      assert.deepEqual(
        members.filter((key) => !bed.ports('Port_Group', group).includes(key)),
        [],
        `${note}: ${group}`,
      );
      for (const key of others) assert.ok(!ready.some(([name]) => name === key), `${note}: ${key} still in ${group}`);
    }
    assert.equal(bed.rows('Port_Group').length, model.groups.size, note);
    const addresses = bed.named('Address_Set', 'as')?.['addresses'] as readonly string[];
    for (const [, { address }] of ready) assert.ok(addresses.includes(address), `${note}: ${address} is missing`);
    if (ready.length === model.pods.size)
      assert.deepEqual(addresses, [...new Set(ready.map(([, { address }]) => address))].sort(), note);
  }

  function bareWaiting(model: Model): readonly string[] {
    const grouped = new Set(bed.rows('Port_Group').flatMap((row) => row['ports'] as string[]));
    const ready = new Set(model.ready().map(([key]) => key));
    const rows = bed.rows('Logical_Switch_Port').filter(({ name }) => !ready.has(name as string));
    return rows.map(({ _uuid }) => _uuid).filter((uuid) => !grouped.has(uuid));
  }

  function setPlans(target: OvsdbTarget, former: Map<string, Desired>, model: Model): Map<string, Desired> {
    const plans = model.plans();
    for (const owner of former.keys()) if (!plans.has(owner)) target.drop(owner);
    for (const [owner, desired] of plans)
      if (JSON.stringify(former.get(owner)) !== JSON.stringify(desired)) target.set(owner, desired);
    return plans;
  }

  for (let seed = 1; seed <= 6; seed++) {
    it(`end in the planned rows, and no write leaves a port without a group (seed ${seed})`, async () => {
      const next = randomOf(seed);
      const model = new Model();
      await bed.reset();
      let target = bed.open({ batchSize: 1 + next(4) });
      target.seal();
      let former = new Map<string, Desired>();
      let isOurs = true;
      const bare = new Set<string>();
      /** Ports that others took out of their groups while their plan waits: theirs again once it need not. */
      let robbed = new Set<string>();
      const unwatch = bed.client.subscribe(() => {
        const grouped = new Set(bed.rows('Port_Group').flatMap((row) => row['ports'] as string[]));
        for (const { _uuid, name } of bed.rows('Logical_Switch_Port'))
          if (isOurs && !grouped.has(_uuid) && !robbed.has(_uuid)) bare.add(String(name));
      });
      for (let round = 0; round < 40; round++) {
        const lost = [...model.groups];
        mutate(model, next);
        // A group that is taken from pods that want it, or wait to leave it, bares them by the plans' own word.
        const ready = new Set(model.ready().map(([key]) => key));
        for (const group of lost) {
          const isWanted = [...model.pods.values()].some(({ groups }) => groups.includes(group));
          const isLast = bed.ports('Port_Group', group).some((key) => model.pods.has(key) && !ready.has(key));
          if (isWanted || isLast) model.groups.add(group);
        }
        former = setPlans(target, former, model);
        await target.untilApplied();
        check(model, `seed ${seed}, round ${round}`);
        isOurs = false;
        await interfere(next);
        await target.untilApplied();
        isOurs = true;
        robbed = new Set(bareWaiting(model));
        // Before the target takes the interference for another client that fights it.
        if (round % 4 === 3 || next(10) === 0) {
          target = bed.open({ batchSize: 1 + next(4) });
          former = setPlans(target, new Map(), model);
          target.seal();
          await target.untilApplied();
        }
        check(model, `seed ${seed}, round ${round}, repaired`);
      }
      unwatch();
      assert.deepEqual([...bare], []);
    });
  }
});
