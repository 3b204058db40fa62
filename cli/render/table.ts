/** Aligns columns as kubectl does. In: cells with their tone. Out: lines without trailing spaces. Pure. */
import type { Paint, Tone } from './paint.ts';
import { inLine } from './printable.ts';

export interface Toned {
  readonly text: string;
  readonly tone: Tone;
}

export type Cell = string | number | undefined | Toned;

const gap = 3;

export function toned(text: string, tone: Tone): Toned {
  return { text, tone };
}

/** Columns that are empty in all rows are omitted; an empty table has no lines. */
export function renderTable(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint,
): readonly string[] {
  if (rows.length === 0) return [];
  const kept = heads.flatMap((_, column) => (rows.some((row) => textOf(row[column]) !== '') ? [column] : []));
  const cells = [heads.map((head) => toned(head, 'faint')), ...rows].map((row) =>
    kept.map((column) => asToned(row[column])),
  );
  // Not by `Math.max` of all: a mesh of some hundred members has more pairs than a call may have arguments.
  const widths = kept.map((_, at) => cells.reduce((most, row) => Math.max(most, row[at]?.text.length ?? 0), 0));
  return cells.map((row) =>
    row
      .map(({ text, tone }, at) => {
        const isLast = row.slice(at + 1).every((rest) => rest.text === '');
        return isLast ? paint(text, tone) : paint(text, tone) + ' '.repeat((widths[at] ?? 0) - text.length + gap);
      })
      .join('')
      .trimEnd(),
  );
}

/** Renders a title and below it the lines, indented by two columns. */
export function renderSection(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : ['', paint(title, 'strong'), ...lines.map((line) => `  ${line}`)];
}

function asToned(cell: Cell): Toned {
  return toned(textOf(cell), typeof cell === 'object' ? cell.tone : 'plain');
}

function textOf(cell: Cell): string {
  if (cell === undefined) return '';
  return inLine(typeof cell === 'object' ? cell.text : String(cell));
}
