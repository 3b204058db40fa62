/**
 * A long list for programs, stored in separate objects: slices with a bounded number of entries, like EndpointSlices.
 * Each slice belongs to one owner, by its owner reference with the owner's uid, and has a label for selection. Pure.
 */
import type { ObjectMeta, RawObject, Resource } from '../kube/types.ts';

/** Format of the slices of one kind of owner, and their only parser. */
export interface SlicedKind<Entry> {
  readonly owners: Resource;
  readonly slices: Resource;
  /** Key of the label that names the owner. */
  readonly label: string;
  readonly mostEntries: number;
  /** The field of a slice that holds the entries; `routes` if it is not given. */
  readonly field?: string;
  readonly parse: (raw: RawObject) => readonly Entry[];
  /**
   * The list in the owner's status. It counts only while the owner has no slice: then its writer is of a release before
   * slices, which writes the whole list to the status.
   */
  readonly sample: (owner: RawObject) => readonly Entry[];
  /** Key of an entry, unique for the owner. Slices are ordered by these keys. */
  readonly keyOf: (entry: Entry) => string;
}

export interface SliceOwner {
  readonly name: string;
  readonly uid: string;
}

export interface Slice<Entry> {
  readonly name: string;
  readonly version: string;
  readonly owner: SliceOwner;
  readonly isLabelled: boolean;
  readonly entries: readonly Entry[];
}

/** A label holds 63 characters, a name 253. The owner reference decides about the slices that the label selects. */
export function ownerLabel(name: string): string {
  return name.slice(0, 63).replace(/[^A-Za-z0-9]+$/, '');
}

export function selectorOf({ label }: Pick<SlicedKind<never>, 'label'>, owner: string): string {
  return `${label}=${ownerLabel(owner)}`;
}

export function parseSlice<Entry>(kind: SlicedKind<Entry>, raw: RawObject): Slice<Entry> {
  return { ...sliceOf(kind, raw), entries: kind.parse(raw) };
}

/** The slice without its entries, for a writer that knows them. */
export function sliceOf<Entry>(kind: SlicedKind<Entry>, raw: RawObject): Omit<Slice<Entry>, 'entries'> {
  const { name, resourceVersion, labels = {} } = raw.metadata;
  const owner = ownerOf(kind, raw.metadata);
  return {
    name,
    version: resourceVersion,
    owner,
    isLabelled: labels[kind.label] === ownerLabel(owner.name),
  };
}

/** The owner of a slice; for a slice without an owner of this kind, an owner that does not exist. */
function ownerOf({ owners }: Pick<SlicedKind<never>, 'owners'>, { ownerReferences = [] }: ObjectMeta): SliceOwner {
  const found = ownerReferences.find(({ kind }) => kind === owners.kind);
  return { name: found?.name ?? '', uid: found?.uid ?? '' };
}

/** All entries of an owner; undefined if it has no slice. Slices of an earlier object of the same name do not count. */
export function entriesOf<Entry>(
  { name, uid }: SliceOwner,
  slices: Iterable<Slice<Entry>>,
): readonly Entry[] | undefined {
  const own = [...slices].filter(({ owner }) => owner.name === name && owner.uid === uid);
  if (own.length === 0) return undefined;
  return own.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap(({ entries }) => entries);
}

/** How a reader parses an owner and the entries of its slices. */
export interface SlicedView<Entry, Merged, T> {
  readonly kind: SlicedKind<Entry>;
  /** All entries of an owner → the value derived from them that no change of the owner's own object affects. */
  readonly merge: (entries: readonly Entry[]) => Merged;
  readonly parse: (owner: RawObject) => (merged: Merged) => T;
  /** How long the next change waits after so many entries were merged: a long list arrives slice by slice. At once if it is not given. */
  readonly spacingMs?: (entries: number) => number;
}

/** One value per owner, by name, from lists of both kinds. */
export function joinSliced<Entry, Merged, T>(
  { kind, merge, parse }: SlicedView<Entry, Merged, T>,
  owners: readonly RawObject[],
  slices: readonly RawObject[],
): ReadonlyMap<string, T> {
  const parsed = Map.groupBy(
    slices.map((raw) => parseSlice(kind, raw)),
    ({ owner }) => owner.name,
  );
  return new Map(
    owners.map((raw) => {
      const { name } = raw.metadata;
      const entries = entriesOf(raw.metadata, parsed.get(name) ?? []) ?? kind.sample(raw);
      return [name, parse(raw)(merge(entries))];
    }),
  );
}

/** The value of an owner that has no slice. */
export function joinWithoutSlices<Entry, Merged, T>(
  { kind, merge, parse }: SlicedView<Entry, Merged, T>,
  owner: RawObject,
): T {
  return parse(owner)(merge(kind.sample(owner)));
}
