/** Runs the measurements of a benchmark one after the other. A failed one does not stop the others. */

interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  readonly floor: number;
}

export interface Outcome<Row> {
  readonly rows: readonly Row[];
  /** The name of each failed measurement, with the first line of its error. */
  readonly failures: readonly string[];
}

/** Prints each figure when it is measured, and each error. */
export async function measureEach<Bed, Row extends Figure>(
  measurements: readonly { readonly name: string; readonly measure: (bed: Bed) => Promise<readonly Row[]> }[],
  bed: Bed,
): Promise<Outcome<Row>> {
  const rows: Row[] = [];
  const failures: string[] = [];
  for (const { name, measure } of measurements) {
    console.log(`         ${name}`);
    try {
      const measured = await measure(bed);
      for (const { what, unit, ours, floor } of measured)
        console.log(`           ${what}: ${ours.toFixed(2)} ${unit}, floor ${floor.toFixed(2)}`);
      rows.push(...measured);
    } catch (error) {
      console.error(error);
      failures.push(`${name}: ${(error as Error).message.split('\n')[0] ?? ''}`);
    }
  }
  return { rows, failures };
}

/** The paragraphs below the table. */
export function notMeasured(failures: readonly string[]): string {
  return failures.map((failure) => `\n\nNot measured: ${failure}`).join('');
}
