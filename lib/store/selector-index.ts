/**
 * Index of objects by their label selectors. In: a store whose objects have label selectors. Out: the names of the objects with a
 * selector that given labels satisfy, and of the objects that a change of labels affects. Objects with the same selector share one
 * entry, and labels are compared only with selectors that require one of them.
 */
import type { LabelSelector } from '../api/kinds/shared.ts';
import { matchesSelector } from '../api/label-selector.ts';
import type { Store } from './store.ts';

export type Labels = Readonly<Record<string, string>>;

export interface SelectorIndex {
  /** Objects with a selector that the labels satisfy. */
  matching(labels: Labels): ReadonlySet<string>;
  /** Texts of the selectors that the labels satisfy, as `selectorText` writes them. */
  texts(labels: Labels): readonly string[];
  /** Objects that select exactly one of two sets of labels. */
  concerned(before: Labels, after: Labels): ReadonlySet<string>;
}

interface Entry {
  readonly selector: LabelSelector;
  readonly text: string;
  readonly owners: Map<string, number>;
}

/** A label that every match of the selector has, with this value or any value; none if the labels may be absent. */
function anchorsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly string[] {
  const [pair] = Object.entries(matchLabels);
  if (pair !== undefined) return [`${pair[0]}=${pair[1]}`];
  const list = matchExpressions.find(({ operator }) => operator === 'In');
  if (list !== undefined) return (list.values ?? []).map((value) => `${list.key}=${value}`);
  const present = matchExpressions.find(({ operator }) => operator === 'Exists');
  return present === undefined ? [everywhere] : [present.key];
}

/** The anchor of selectors that labels can satisfy by the absence of a label. */
const everywhere = '';

/** A text that is equal for equal selectors, in any order of their labels, expressions and values. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    JSON.stringify([key, operator, values.toSorted()]),
  );
  return JSON.stringify([Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1)), expressions.sort()]);
}

/** The selector that `selectorText` has written. */
export function selectorOfText(text: string): LabelSelector {
  const [labels, expressions] = JSON.parse(text) as [[string, string][], string[]];
  const matchExpressions = expressions.map((one) => {
    const [key, operator, values] = JSON.parse(one) as [string, Operator, string[]];
    return { key, operator, values };
  });
  return { matchLabels: Object.fromEntries(labels), matchExpressions };
}

type Operator = NonNullable<LabelSelector['matchExpressions']>[number]['operator'];

class Selectors implements SelectorIndex {
  readonly #entries = new Map<string, Entry>();
  readonly #byAnchor = new Map<string, Set<Entry>>();

  add(owner: string, selector: LabelSelector): void {
    const text = selectorText(selector);
    let entry = this.#entries.get(text);
    if (entry === undefined) {
      entry = { selector, text, owners: new Map() };
      this.#entries.set(text, entry);
      for (const anchor of anchorsOf(selector))
        this.#byAnchor.set(anchor, (this.#byAnchor.get(anchor) ?? new Set()).add(entry));
    }
    entry.owners.set(owner, (entry.owners.get(owner) ?? 0) + 1);
  }

  remove(owner: string, selector: LabelSelector): void {
    const entry = this.#entries.get(selectorText(selector));
    if (entry === undefined) return;
    const count = (entry.owners.get(owner) ?? 0) - 1;
    if (count > 0) entry.owners.set(owner, count);
    else entry.owners.delete(owner);
    if (entry.owners.size > 0) return;
    this.#entries.delete(entry.text);
    for (const anchor of anchorsOf(entry.selector)) {
      const entries = this.#byAnchor.get(anchor);
      entries?.delete(entry);
      if (entries?.size === 0) this.#byAnchor.delete(anchor);
    }
  }

  matching(labels: Labels): ReadonlySet<string> {
    return ownersOf(this.#matches(labels));
  }

  texts(labels: Labels): readonly string[] {
    return [...this.#matches(labels)].map(({ text }) => text);
  }

  concerned(before: Labels, after: Labels): ReadonlySet<string> {
    const [was, is] = [this.#matches(before), this.#matches(after)];
    const [owned, owns] = [ownersOf(was), ownersOf(is)];
    return owned.symmetricDifference(owns);
  }

  #matches(labels: Labels): ReadonlySet<Entry> {
    const matches = new Set<Entry>();
    const look = (anchor: string): void => {
      for (const entry of this.#byAnchor.get(anchor) ?? [])
        if (!matches.has(entry) && matchesSelector(entry.selector, labels)) matches.add(entry);
    };
    look(everywhere);
    if (this.#byAnchor.size > 0)
      for (const [key, value] of Object.entries(labels)) {
        look(key);
        look(`${key}=${value}`);
      }
    return matches;
  }
}

function ownersOf(entries: ReadonlySet<Entry>): Set<string> {
  const owners = new Set<string>();
  for (const entry of entries) for (const owner of entry.owners.keys()) owners.add(owner);
  return owners;
}

/** An index of the selectors of a store's objects. */
export function selectorIndex<V>(store: Store<V>, selectorsOf: (value: V) => readonly LabelSelector[]): SelectorIndex {
  const selectors = new Selectors();
  store.follow((name, before, after) => {
    const [was, is] = [before, after].map((value) => (value === undefined ? [] : selectorsOf(value)));
    for (const selector of is ?? []) selectors.add(name, selector);
    for (const selector of was ?? []) selectors.remove(name, selector);
  });
  return selectors;
}
