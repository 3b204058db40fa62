/**
 * Plans the writes after which the slices hold the wanted entries. In: the wanted entries, and the existing slices. Out: the
 * fewest writes. Entries stay in their slice, so that one changed entry rewrites one slice, and a restart, which adopts the
 * existing slices, rewrites none. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Slice, SlicedKind, SliceOwner } from './slice.ts';

export interface SliceWrite<Entry> {
  readonly name: string;
  readonly entries: readonly Entry[];
  readonly isNew: boolean;
  /** It has entries that it did not have. */
  readonly isGaining: boolean;
}

export interface SlicePlan<Entry> {
  /**
   * Slices that gain entries come first. No wanted entry is ever missing if all of these are written before the others, in any order
   * among each other: a slice that loses a wanted entry to another one gains none.
   */
  readonly writes: readonly SliceWrite<Entry>[];
  /** Slices to delete after all writes. */
  readonly deletes: readonly string[];
}

/** An object in etcd has at most 1.5 MB; entries may contain text from other clusters or users. */
export const mostSliceBytes = 500_000;

interface Draft<Entry> {
  readonly name: string;
  readonly isNew: boolean;
  readonly entries: Entry[];
  bytes: number;
  isGaining: boolean;
  /** An entry that stays wanted has no room in it any more; another slice has to have it first. */
  isShedding: boolean;
  isChanged: boolean;
}

export function planSlices<Entry>(
  kind: SlicedKind<Entry>,
  owner: SliceOwner,
  wanted: readonly Entry[],
  slices: Iterable<Slice<Entry>>,
): SlicePlan<Entry> {
  const rest = new Map(wanted.map((entry) => [kind.keyOf(entry), entry]));
  const existing = [...slices].toSorted(byNumber).map((slice) => keep(kind, owner, slice, rest));
  const drafts = [...existing];
  const add = (): Draft<Entry> => {
    const names = new Set(drafts.map(({ name }) => name));
    let number = 0;
    while (names.has(`${owner.name}.${number}`)) number += 1;
    const name = `${owner.name}.${number}`;
    const draft = { name, isNew: true, entries: [], bytes: 0, isGaining: true, isShedding: false, isChanged: true };
    drafts.push(draft);
    return draft;
  };
  fill(kind, drafts, sorted(kind, rest.values()), add);
  // An owner without any slice is one whose writer knows of none.
  if (drafts.every(({ entries }) => entries.length === 0)) {
    const placeholder = drafts[0] ?? add();
    const deletes = drafts.filter((draft) => draft !== placeholder).map(({ name }) => name);
    return { writes: placeholder.isChanged ? [written(kind, placeholder)] : [], deletes };
  }
  const full = drafts.filter(({ entries, isChanged }) => isChanged && entries.length > 0);
  return {
    writes: [...full.filter(({ isGaining }) => isGaining), ...full.filter(({ isGaining }) => !isGaining)].map((draft) =>
      written(kind, draft),
    ),
    deletes: drafts.flatMap(({ name, entries, isNew }) => (entries.length === 0 && !isNew ? [name] : [])),
  };
}

/** Keeps in the slice the wanted entries that no earlier slice has, and removes them from `rest`. */
function keep<Entry>(
  { keyOf, mostEntries }: SlicedKind<Entry>,
  { uid }: SliceOwner,
  { name, owner, isLabelled, entries }: Slice<Entry>,
  rest: Map<string, Entry>,
): Draft<Entry> {
  const isOwn = owner.uid === uid;
  const draft: Draft<Entry> = {
    name,
    isNew: false,
    entries: [],
    bytes: 0,
    isGaining: false,
    isShedding: false,
    isChanged: !isOwn || !isLabelled,
  };
  for (const entry of isOwn ? entries : []) {
    const key = keyOf(entry);
    const next = rest.get(key);
    const size = next === undefined ? 0 : sizeOf(next);
    if (next === undefined || !hasRoom(draft, size, mostEntries)) {
      draft.isChanged = true;
      draft.isShedding ||= next !== undefined;
      continue;
    }
    draft.isChanged ||= !isDeepStrictEqual(entry, next);
    put(draft, next, size);
    rest.delete(key);
  }
  return draft;
}

/** Gaps of slices that are written anyway come first, then the fullest slice that takes all of the rest, then new slices. */
function fill<Entry>(
  { mostEntries }: SlicedKind<Entry>,
  drafts: readonly Draft<Entry>[],
  rest: readonly Entry[],
  add: () => Draft<Entry>,
): void {
  const sizes = rest.map(sizeOf);
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  let at = 0;
  const pour = (draft: Draft<Entry>): void => {
    for (; at < rest.length; at += 1) {
      const [entry, size] = [rest[at] as Entry, sizes[at] as number];
      if (!hasRoom(draft, size, mostEntries)) return;
      put(draft, entry, size);
      bytes -= size;
      draft.isGaining = true;
      draft.isChanged = true;
    }
  };
  const open = drafts.filter(({ isShedding }) => !isShedding);
  for (const draft of open) if (draft.isChanged || draft.entries.length === 0) pour(draft);
  while (at < rest.length) {
    const fitting = open.filter(
      (draft) => draft.entries.length + rest.length - at <= mostEntries && draft.bytes + bytes <= mostSliceBytes,
    );
    pour(fitting.toSorted((a, b) => b.entries.length - a.entries.length)[0] ?? add());
  }
}

function hasRoom({ entries, bytes }: Draft<unknown>, size: number, mostEntries: number): boolean {
  return entries.length === 0 || (entries.length < mostEntries && bytes + size <= mostSliceBytes);
}

function put<Entry>(draft: Draft<Entry>, entry: Entry, size: number): void {
  draft.entries.push(entry);
  draft.bytes += size;
}

function sizeOf(entry: unknown): number {
  return JSON.stringify(entry).length;
}

function written<Entry>(kind: SlicedKind<Entry>, { name, isNew, isGaining, entries }: Draft<Entry>): SliceWrite<Entry> {
  return { name, isNew, isGaining, entries: sorted(kind, entries) };
}

function sorted<Entry>({ keyOf }: SlicedKind<Entry>, entries: Iterable<Entry>): readonly Entry[] {
  const keyed = [...entries].map((entry) => [keyOf(entry), entry] as const);
  return keyed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

function byNumber({ name: a }: { readonly name: string }, { name: b }: { readonly name: string }): number {
  return numberOf(a) - numberOf(b) || (a < b ? -1 : 1);
}

function numberOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('.') + 1)) || 0;
}
