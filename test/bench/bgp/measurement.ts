/** What a measurement of BGP gives: figures with a floor of the same run beside them, and what was promised. */
import type { BgpBed } from './bed.ts';

export interface BgpRow {
  readonly what: string;
  readonly unit:
    | 'ms'
    | 's'
    | 'routes'
    | 'UPDATEs'
    | 'prefixes'
    | 'flaps'
    | 'resets'
    | 'calls'
    | 'requests'
    | 'faults'
    | 'MB'
    | '% of a core';
  readonly ours: number;
  /** The promise: ours is not more than this, or than so many times the floor; undefined: nothing was promised. */
  readonly target: number | { readonly timesFloor: number } | undefined;
  readonly floor: number;
  readonly floorIs: string;
}

export interface Measurement {
  readonly name: string;
  /** Leaves the bed with its speaker, gobgpd and routers at work; what is announced it may leave as it likes. */
  readonly measure: (bed: BgpBed) => Promise<readonly BgpRow[]>;
}

/** Whether the promise is kept; undefined where there was none. */
export function isMet({ ours, target, floor }: BgpRow): boolean | undefined {
  if (target === undefined) return undefined;
  return ours <= (typeof target === 'number' ? target : target.timesFloor * floor);
}

export function renderRows(rows: readonly BgpRow[]): string {
  const lines = rows.map((row) => {
    const { what, unit, ours, target, floor, floorIs } = row;
    const figure = (value: number): string => `${format(value)} ${unit}`;
    const ratio = floor > 0 ? format(ours / floor) : '–';
    const promise =
      target === undefined ? '–' : typeof target === 'number' ? figure(target) : `${target.timesFloor} × floor`;
    const met = { true: 'yes', false: '**no**', undefined: '–' }[String(isMet(row))] ?? '';
    return `| ${what} | ${figure(ours)} | ${figure(floor)} | ${ratio} | ${promise} | ${met} | ${floorIs} |`;
  });
  return ['| what | ours | floor | ratio | target | met | the floor |', '|---|--:|--:|--:|--:|---|---|', ...lines].join(
    '\n',
  );
}

function format(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en');
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
