/** Rows of a table of figures that were promised: each with a floor of the same run beside it, and whether the promise is kept. */

export interface PromisedRow<Unit extends string = string> {
  readonly what: string;
  readonly unit: Unit;
  readonly ours: number;
  /**
   * The promise: ours is not more than this, or than so many times the floor, or than the floor and so much; undefined:
   * nothing was promised.
   */
  readonly target: number | { readonly timesFloor: number } | { readonly overFloor: number } | undefined;
  readonly floor: number;
  readonly floorIs: string;
}

/** Whether the promise is kept; undefined where there was none. */
export function isMet({ ours, target, floor }: PromisedRow): boolean | undefined {
  if (target === undefined) return undefined;
  if (typeof target === 'number') return ours <= target;
  return ours <= ('timesFloor' in target ? target.timesFloor * floor : target.overFloor + floor);
}

export function renderRows(rows: readonly PromisedRow[]): string {
  const lines = rows.map((row) => {
    const { what, unit, ours, floor, floorIs } = row;
    const ratio = floor > 0 ? format(ours / floor) : '–';
    const met = { true: 'yes', false: '**no**', undefined: '–' }[String(isMet(row))] ?? '';
    return `| ${what} | ${format(ours)} ${unit} | ${format(floor)} ${unit} | ${ratio} | ${renderTarget(row)} | ${met} | ${floorIs} |`;
  });
  return ['| what | ours | floor | ratio | target | met | the floor |', '|---|--:|--:|--:|--:|---|---|', ...lines].join(
    '\n',
  );
}

function renderTarget({ target, unit }: PromisedRow): string {
  if (target === undefined) return '–';
  if (typeof target === 'number') return `${format(target)} ${unit}`;
  return 'timesFloor' in target ? `${target.timesFloor} × floor` : `floor + ${format(target.overFloor)} ${unit}`;
}

function format(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en');
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
