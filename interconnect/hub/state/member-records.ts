/**
 * The records of members, by name: the settled one, the one that the databases hold, and the networks of each. Zones
 * that run plain ovn-ic and expected members are here too.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { ForeignMember, MemberRecord } from '../model/record.ts';

export class MemberRecords {
  readonly #records = new Map<string, MemberRecord>();
  /** As they were when the databases last held them. */
  readonly #applied = new Map<string, MemberRecord>();
  /** Why the databases do not hold the newest record. */
  readonly #refused = new Map<string, Problem>();
  /** Network → members that take part by their records. */
  readonly #attached = new Map<string, Set<string>>();
  readonly #expected = new Set<string>();
  readonly #foreign = new Map<string, ForeignMember>();

  get size(): number {
    return this.#records.size;
  }

  names(): MapIterator<string> {
    return this.#records.keys();
  }

  values(): MapIterator<MemberRecord> {
    return this.#records.values();
  }

  has(name: string): boolean {
    return this.#records.has(name);
  }

  /** As it was settled. */
  get(name: string): MemberRecord | undefined {
    return this.#records.get(name);
  }

  /** As the databases hold it. */
  held(name: string): MemberRecord | undefined {
    return this.#refused.has(name) ? this.#applied.get(name) : this.#records.get(name);
  }

  problem(name: string): Problem | undefined {
    return this.#refused.get(name);
  }

  attached(network: string): ReadonlySet<string> {
    return this.#attached.get(network) ?? new Set();
  }

  set(record: MemberRecord): void {
    const { name } = record;
    this.#detach(name);
    this.#records.set(name, record);
    for (const { network } of record.attachments) {
      const attached = this.#attached.get(network) ?? new Set();
      this.#attached.set(network, attached.add(name));
    }
  }

  delete(name: string): void {
    this.#detach(name);
    for (const map of [this.#records, this.#applied, this.#refused]) map.delete(name);
  }

  /** Removes the record, for a member that is renamed; results of the databases move to the new name. */
  takeFor(before: string, name: string): MemberRecord | undefined {
    const record = this.#records.get(before);
    for (const map of [this.#applied, this.#refused]) moveEntry<unknown>(map, before, name);
    this.#detach(before);
    this.#records.delete(before);
    return record;
  }

  /** The databases hold the newest record, or refused it. Returns whether that is new. */
  setResult(name: string, problem: Problem | undefined): boolean {
    const before = this.#refused.get(name);
    const record = this.#records.get(name);
    if (problem === undefined) this.#refused.delete(name);
    else if (record !== undefined) this.#refused.set(name, problem);
    if (problem === undefined && record !== undefined) this.#applied.set(name, record);
    return before?.message !== problem?.message;
  }

  foreign(name: string): ForeignMember | undefined {
    return this.#foreign.get(name);
  }

  foreignNames(): MapIterator<string> {
    return this.#foreign.keys();
  }

  /** Returns whether that is new. */
  setForeign(zone: ForeignMember): boolean {
    if (JSON.stringify(this.#foreign.get(zone.name)) === JSON.stringify(zone)) return false;
    this.#foreign.set(zone.name, zone);
    return true;
  }

  deleteForeign(name: string): boolean {
    return this.#foreign.delete(name);
  }

  get expected(): ReadonlySet<string> {
    return this.#expected;
  }

  expect(name: string): void {
    this.#expected.add(name);
  }

  /** Returns whether it was expected. */
  stopExpecting(name: string): boolean {
    return this.#expected.delete(name);
  }

  #detach(name: string): void {
    for (const { network } of this.#records.get(name)?.attachments ?? []) this.#attached.get(network)?.delete(name);
  }
}

export function moveEntry<T>(map: Map<string, T>, before: string, after: string): void {
  const value = map.get(before);
  if (value === undefined) return;
  map.delete(before);
  map.set(after, value);
}
