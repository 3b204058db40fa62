/** Result of a measurement between clusters: figures, each with its floor of the same run and its target. */
import type { IcBed } from './bed.ts';

export interface IcRow {
  readonly what: string;
  readonly unit: 'ms' | 's' | 'packets' | 'rows' | 'resets' | 's of CPU';
  readonly ours: number;
  /** The promise: ours is not more than this. */
  readonly target: number;
  readonly floor: number;
  readonly floorIs: string;
}

export interface Measurement {
  readonly name: string;
  /** Leaves the lab unchanged, except for faults that `heal` and some time without changes repair. */
  readonly measure: (bed: IcBed) => Promise<readonly IcRow[]>;
}

export function renderRows(rows: readonly IcRow[]): string {
  const lines = rows.map(({ what, unit, ours, target, floor, floorIs }) => {
    const figure = (value: number): string => `${format(value)} ${unit}`;
    const met = ours <= target ? 'yes' : '**no**';
    return `| ${what} | ${figure(ours)} | ${figure(floor)} | ${figure(target)} | ${met} | ${floorIs} |`;
  });
  return ['| what | ours | floor | target | met | the floor |', '|---|--:|--:|--:|---|---|', ...lines].join('\n');
}

function format(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en');
  return value.toFixed(value < 1 ? 2 : value < 100 ? 1 : 0);
}
