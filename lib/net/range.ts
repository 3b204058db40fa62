import { formatIp, parseIp } from './ip.ts';
import type { Family } from './ip.ts';

/** Addresses from `first` to `last`, both included. */
export interface Range {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
}

/** `address` or `lowest..highest`; undefined where malformed, of two families, or the wrong way round. */
export function parseRange(text: string): Range | undefined {
  const ends = text.split('..');
  if (ends.length > 2) return undefined;
  const first = parseIp(ends[0] ?? '');
  const last = ends.length === 2 ? parseIp(ends[1] ?? '') : first;
  if (first === undefined || last === undefined) return undefined;
  if (first.family !== last.family || first.value > last.value) return undefined;
  return { family: first.family, first: first.value, last: last.value };
}

/** `address` or `lowest..highest`. */
export function formatRange(range: Range): string {
  const first = formatIp({ family: range.family, value: range.first });
  return range.first === range.last ? first : `${first}..${formatIp({ family: range.family, value: range.last })}`;
}
