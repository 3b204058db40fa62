/** Rows of a table of figures that were promised: each with a floor of the same run beside it, and whether the promise is kept. */

export interface PromisedRow<Unit extends string = string> {
  readonly what: string;
  readonly unit: Unit;
  readonly ours: number;
  /**
   * The promise: ours is not more than this, or than so many times the floor or the peer, or than the floor and so much; undefined:
   * nothing was promised.
   */
  readonly target:
    | number
    | { readonly timesFloor: number }
    | { readonly timesPeer: number }
    | { readonly overFloor: number }
    | undefined;
  readonly floor: number;
  readonly floorIs: string;
  /** The same of another program that does the same work; undefined where it has no such part. */
  readonly peer?: number;
}

/** Whether the promise is kept; undefined where there was none. */
export function isMet({ ours, target, floor, peer = Number.NaN }: PromisedRow): boolean | undefined {
  if (target === undefined) return undefined;
  if (typeof target === 'number') return ours <= target;
  if ('timesPeer' in target) return ours <= target.timesPeer * peer;
  return ours <= ('timesFloor' in target ? target.timesFloor * floor : target.overFloor + floor);
}

/** @param peer name of the program in whose column `peer` is; without it there is no such column */
export function renderRows(rows: readonly PromisedRow[], peer?: string): string {
  const beside = peer === undefined ? [] : [peer, 'ratio'];
  const headings = ['what', 'ours', 'floor', 'ratio', ...beside, 'target', 'met'];
  const lines = rows.map((row) => {
    const { what, unit, ours, floor, floorIs } = row;
    const compared = (other: number | undefined): readonly string[] =>
      other === undefined ? ['–', '–'] : [`${format(other)} ${unit}`, other > 0 ? format(ours / other) : '–'];
    const met = { true: 'yes', false: '**no**', undefined: '–' }[String(isMet(row))] ?? '';
    const figures = [
      ...compared(floor),
      ...(peer === undefined ? [] : compared(row.peer)),
      renderTarget(row, peer),
      met,
    ];
    return `| ${what} | ${format(ours)} ${unit} | ${figures.join(' | ')} | ${floorIs} |`;
  });
  const rule = headings.map((heading) => (heading === 'what' || heading === 'met' ? '---' : '--:')).join('|');
  return [`| ${headings.join(' | ')} | the floor |`, `|${rule}|---|`, ...lines].join('\n');
}

function renderTarget({ target, unit }: PromisedRow, peer = ''): string {
  if (target === undefined) return '–';
  if (typeof target === 'number') return `${format(target)} ${unit}`;
  if ('timesPeer' in target) return target.timesPeer === 1 ? peer : `${target.timesPeer} × ${peer}`;
  return 'timesFloor' in target ? `${target.timesFloor} × floor` : `floor + ${format(target.overFloor)} ${unit}`;
}

function format(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en');
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
