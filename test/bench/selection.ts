/** Which measurements of a benchmark run: ONLY=text selects those whose name contains it, in any case of letters. */

const only = (process.env['ONLY'] ?? '').toLowerCase();

/** Whether all measurements run, so that their table may replace the one in docs/performance.md. */
export const isWhole = only === '';

/** @throws Error with all names if none is selected */
export function selected<M extends { readonly name: string }>(all: readonly M[]): readonly M[] {
  const wanted = all.filter(({ name }) => name.toLowerCase().includes(only));
  if (wanted.length > 0) return wanted;
  throw new Error(`ONLY=${only} selects no measurement; their names:\n  ${all.map(({ name }) => name).join('\n  ')}`);
}
