/**
 * Writes the slices of the owners of one room. In: the wanted entries of an owner, and every slice event of the watch. Out: the
 * writes of `planSlices` in their order, several at a time where the order does not matter. Rule: the written version counts until
 * the watch has caught up with it; older versions that arrive in the meantime cause no further write.
 */
import { apiVersionOf } from '../kube/resources.ts';
import type { KubeClient } from '../kube/types.ts';
import type { ObjectWriter } from '../kube/writer.ts';
import { planSlices, type SlicePlan, type SliceWrite } from './plan.ts';
import { ownerLabel, sliceOf, type Slice, type SlicedKind, type SliceOwner } from './slice.ts';

export interface SliceWriterOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch' | 'delete'>;
  readonly writer: Pick<ObjectWriter, 'enqueue'>;
}

/** Writes of one owner in flight: the slices of ten thousand entries would otherwise wait for as many answers in turn. */
const parallel = 8;

/** Slices that were written or deleted after their last watch event. */
interface Owned<Entry> {
  readonly seen: Map<string, Slice<Entry>>;
  readonly written: Map<string, Slice<Entry> | 'deleted'>;
}

interface Wanted<Entry> {
  readonly owner: SliceOwner;
  readonly entries: readonly Entry[];
}

/** What a list needs, as long as the slices stay as they are. */
interface Planned<Entry> {
  readonly uid: string;
  readonly entries: readonly Entry[];
  readonly plan: SlicePlan<Entry>;
}

export class SliceWriter<Entry> {
  readonly #kind: SlicedKind<Entry>;
  readonly #options: SliceWriterOptions;
  /** By name of the owner. */
  readonly #owned = new Map<string, Owned<Entry>>();
  /** By name of the owner: a round that changes nothing, and the write that a round asked for, do not plan again. */
  readonly #planned = new Map<string, Planned<Entry>>();
  readonly #wanted = new Map<string, Wanted<Entry>>();
  /** By name of the owner: what is being written now. Each answer would be a reason to plan the whole list again. */
  readonly #writing = new Map<string, { readonly wanted: Wanted<Entry>; isAskedAgain: boolean }>();

  constructor(kind: SlicedKind<Entry>, options: SliceWriterOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  /** Names of owners that have slices, whether they exist themselves or not. */
  get owners(): Iterable<string> {
    return this.#owned.keys();
  }

  /** Handles a watch event of a slice; `after` is undefined if it was deleted. */
  seen(before: Slice<Entry> | undefined, after: Slice<Entry> | undefined): void {
    const slice = after ?? before;
    if (slice === undefined) return;
    const isMoved = before !== undefined && before.owner.name !== slice.owner.name;
    if (isMoved) this.#forget(before.owner.name, before.name);
    if (after === undefined) return this.#forget(slice.owner.name, slice.name);
    const { seen, written } = this.#ownedBy(after.owner.name);
    this.#planned.delete(after.owner.name);
    seen.set(after.name, after);
    const ours = written.get(after.name);
    if (ours !== undefined && ours !== 'deleted' && isAtLeast(after.version, ours.version)) written.delete(after.name);
  }

  write(owner: SliceOwner, entries: readonly Entry[]): void {
    this.#wanted.set(owner.name, { owner, entries });
    const writing = this.#writing.get(owner.name);
    if (writing?.wanted.entries === entries && writing.wanted.owner.uid === owner.uid) {
      writing.isAskedAgain = true;
      return;
    }
    const { writes, deletes } = this.#planOf(owner, entries);
    if (writes.length === 0 && deletes.length === 0) return;
    this.#enqueue(owner.name, () => this.#bring(owner.name));
  }

  /** Deletes all slices of a deleted owner. */
  remove(owner: string): void {
    this.#wanted.delete(owner);
    this.#planned.delete(owner);
    if (this.#present(owner).length === 0) return;
    this.#enqueue(owner, async () => {
      if (this.#wanted.has(owner)) return;
      await forEach(this.#present(owner), (slice) => this.#delete(owner, slice.name));
    });
  }

  #enqueue(owner: string, write: () => Promise<void>): void {
    void this.#options.writer.enqueue(`${this.#kind.slices.kind}/${owner}`, write);
  }

  async #bring(name: string): Promise<void> {
    const wanted = this.#wanted.get(name);
    if (wanted === undefined) return;
    const writing = { wanted, isAskedAgain: false };
    this.#writing.set(name, writing);
    try {
      await this.#writeAll(wanted);
    } finally {
      this.#writing.delete(name);
    }
    const now = this.#wanted.get(name);
    // Another writer may have changed slices in between.
    if (writing.isAskedAgain && now !== undefined) this.write(now.owner, now.entries);
  }

  async #writeAll({ owner, entries }: Wanted<Entry>): Promise<void> {
    const { writes, deletes } = this.#planOf(owner, entries);
    const write = (one: SliceWrite<Entry>) => this.#write(owner, one);
    const [gaining, others] = [true, false].map((isGaining) => writes.filter((one) => one.isGaining === isGaining));
    await forEach(gaining ?? [], write);
    await forEach(others ?? [], write);
    await forEach(deletes, (slice) => this.#delete(owner.name, slice));
  }

  #planOf(owner: SliceOwner, entries: readonly Entry[]): SlicePlan<Entry> {
    const { name, uid } = owner;
    const known = this.#planned.get(name);
    if (known?.entries === entries && known.uid === uid) return known.plan;
    const plan = planSlices(this.#kind, owner, entries, this.#present(name));
    this.#planned.set(name, { uid, entries, plan });
    return plan;
  }

  async #write(owner: SliceOwner, { name, entries, isNew }: SliceWrite<Entry>): Promise<void> {
    const { client } = this.#options;
    const { owners, slices, label, field = 'routes' } = this.#kind;
    const body = {
      apiVersion: apiVersionOf(slices),
      kind: slices.kind,
      metadata: {
        name,
        labels: { [label]: ownerLabel(owner.name) },
        ownerReferences: [{ apiVersion: apiVersionOf(owners), kind: owners.kind, name: owner.name, uid: owner.uid }],
      },
      [field]: entries,
    };
    const raw = isNew ? await client.create(slices, body) : await client.patch(slices, { name }, 'merge', body);
    this.#planned.delete(owner.name);
    this.#ownedBy(owner.name).written.set(name, { ...sliceOf(this.#kind, raw), entries });
  }

  async #delete(owner: string, name: string): Promise<void> {
    await this.#options.client.delete(this.#kind.slices, { name });
    this.#planned.delete(owner);
    const owned = this.#ownedBy(owner);
    if (owned.seen.has(name)) owned.written.set(name, 'deleted');
    else owned.written.delete(name);
  }

  /** The latest known versions of the slices of an owner of this name. */
  #present(owner: string): readonly Slice<Entry>[] {
    const owned = this.#owned.get(owner);
    if (owned === undefined) return [];
    const names = new Set([...owned.seen.keys(), ...owned.written.keys()]);
    return [...names].flatMap((name) => {
      const slice = owned.written.get(name) ?? owned.seen.get(name);
      return slice === undefined || slice === 'deleted' ? [] : [slice];
    });
  }

  #ownedBy(owner: string): Owned<Entry> {
    const known = this.#owned.get(owner) ?? { seen: new Map(), written: new Map() };
    this.#owned.set(owner, known);
    return known;
  }

  #forget(owner: string, name: string): void {
    const owned = this.#owned.get(owner);
    if (owned === undefined) return;
    this.#planned.delete(owner);
    owned.seen.delete(name);
    owned.written.delete(name);
    if (owned.seen.size === 0 && owned.written.size === 0) this.#owned.delete(owner);
  }
}

/** Begins no further work after a failure, and fails with it once all that has begun is done. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    try {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
    } finally {
      // Nothing is left, or this one has failed.
      waiting.length = 0;
    }
  };
  const workers = Array.from({ length: parallel }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
}

/** The API server increases the versions of a kind. */
function isAtLeast(version: string, other: string): boolean {
  return BigInt(version) >= BigInt(other);
}
