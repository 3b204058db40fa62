/**
 * For tests: the output of plans as text for a line-by-line review.
 *
 * In: rows and statuses by owner, and the owners of a case. Out: YAML with one line for the content of a row, and one
 * for its place. The output of a shown owner is complete.
 */
import { Document, isCollection, isMap, parseAllDocuments, visit } from 'yaml';
import { isRef, type Contribution, type Desired, type DesiredRow } from './desired/row.ts';
import type { RawObject } from './kube/types.ts';

/** Maximum length, because a review reads a whole golden. */
export const mostGoldenLines = 250;
const lineWidth = 180;
/** The map of titles, the map of owners, and the owner's own list or map. */
const ownerDepth = 3;

export interface Golden {
  readonly name: string;
  /** Owners in the golden; `*` stands for any text. */
  readonly keys: readonly string[];
}

/** A case with its goldens: documents of kind Golden list the planned keys of each output. */
export function readCase(
  name: string,
  text: string,
): { readonly name: string; readonly objects: readonly RawObject[]; readonly goldens: readonly Golden[] } {
  const documents = parseAllDocuments(text).map((document) => document.toJS() as RawObject);
  const goldens = documents
    .filter(({ kind }) => kind === 'Golden')
    .map(({ metadata, ...golden }) => ({ name: metadata.name, ...(golden['spec'] as Pick<Golden, 'keys'>) }));
  if (goldens.length === 0) throw new Error(`${name}.in.yaml has no document of kind Golden, so that nothing is shown`);
  return { name, objects: documents.filter(({ kind }) => kind !== 'Golden'), goldens };
}

/** `<title> <feature> <table or field>` of everything in it. */
export function kindsOf(sections: Sections): ReadonlySet<string> {
  const kinds = new Set<string>();
  for (const [title, owners] of Object.entries(sections))
    for (const [owner, value] of Object.entries(owners)) {
      const [feature = ''] = owner.split('/');
      const names = Array.isArray(value)
        ? value.map((row: object) => (Object.keys(row)[0] ?? '').replace(/^(\+? ?\w+) .*/su, '$1'))
        : Object.keys(value ?? {});
      for (const name of names) kinds.add(`${title} ${feature} ${name}`);
    }
  return kinds;
}

/** By title, values by owner. */
export type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The owners that match a pattern. */
export function shownOf<T>(all: Readonly<Record<string, T>>, patterns: readonly string[]): Readonly<Record<string, T>> {
  const tests = patterns.map(patternOf);
  return Object.fromEntries(Object.entries(all).filter(([name]) => tests.some((test) => test.test(name))));
}

export function patternOf(pattern: string): RegExp {
  return new RegExp(
    `^${pattern
      .split('*')
      .map((text) => text.replaceAll(/[$()*+.?[\\\]^{|}]/gu, '\\$&'))
      .join('.*')}$`,
    'u',
  );
}

/** Values below an owner's rows and fields are written on one line. */
export function renderGolden(sections: object): string {
  const document = new Document(sections, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_key, node, path) {
      const outer = path.filter((one) => isCollection(one));
      const isField = outer.length === ownerDepth && isMap(node) && isMap(outer.at(-1));
      if (outer.length > ownerDepth || isField) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0 }).split('\n').flatMap(wrap).join('\n');
}

/** Breaks a long line after commas between members, but not after commas within quotes. */
function wrap(line: string): readonly string[] {
  const indent = ' '.repeat(line.search(/[^ -]/u) + 4);
  const lines: string[] = [];
  let rest = line;
  while (rest.length > lineWidth) {
    const at = lastBreak(rest);
    if (at === undefined) break;
    lines.push(rest.slice(0, at));
    rest = indent + rest.slice(at + 1);
  }
  return [...lines, rest];
}

/** Where a line ends at the latest: after the last comma that fits, or the first one. */
function lastBreak(line: string): number | undefined {
  let found: number | undefined;
  for (const { 0: text, index } of line.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|, /gu)) {
    if (text !== ', ') continue;
    if (found !== undefined && index >= lineWidth) break;
    found = index + 1;
  }
  return found;
}

/** Rows and contributions of one owner, a line each. */
export function rowsOf({ rows, contributions = [], createdMs }: Desired): readonly unknown[] {
  const age = createdMs === undefined ? [] : [{ createdMs }];
  return [...rows.map(rowOf), ...contributions.map(contributionOf), ...age];
}

function rowOf({ table, key, columns, parent, adopts, ...more }: DesiredRow): unknown {
  const adoption = adopts === undefined ? '' : `adopts by ${adopts.join(', ')}`;
  const place = parent === undefined ? '' : `in ${parent.column} of ${parent.table} ${parent.key}`;
  const where = [place, adoption].filter((part) => part !== '').join('; ');
  return { [`${table} ${key}`]: plain(columns), ...(where === '' ? {} : { where }), ...(plain(more) as object) };
}

function contributionOf({ table, key, column, ...given }: Contribution): unknown {
  return { [`+ ${table} ${key} ${column}`]: plain(given) };
}

/** References as `Table key`, marked so that no text is mistaken for a reference. */
function plain(value: unknown): unknown {
  if (isRef(value)) return { ref: `${value.ref.table} ${value.ref.key}` };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}
