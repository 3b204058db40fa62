/**
 * `make bench`: a lab of its own, every benchmark in turn, one table, which also replaces the one in docs/performance.md.
 * A benchmark is a file `*.bench.ts` with `measure(lab)`; it leaves the lab unchanged. The lab is removed in any case.
 * Benchmarks without a lab run before the lab is created.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runBench } from './program.ts';
import { type LabHandle, openLab } from '../lab/lib/lab.ts';
import { upFromEnvironment } from '../lab/main.ts';
import { machine, rewritePart } from './page.ts';
import { type Measured, ratioOf, type Row } from './row.ts';
import * as groups from './groups.bench.ts';
import * as scale from './scale.bench.ts';

const alone: Readonly<Record<string, () => Promise<Measured>>> = {
  'groups.bench.ts': groups.measureAlone,
  'scale.bench.ts': scale.measureAlone,
};

function renderTable(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const figure = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ${row.unit}`;
    return `| ${row.what} | ${figure(row.ours)} | ${figure(row.floor)} | ${ratioOf(row).toFixed(1)} | ${row.floorIs} |`;
  });
  return ['| what | ours | floor | ratio | the floor |', '|---|--:|--:|--:|---|', ...lines].join('\n');
}

/** Those that need the machine more than a lab. */
async function benchAlone(): Promise<Measured> {
  const all: Measured[] = [];
  for (const [file, measureAlone] of Object.entries(alone)) {
    console.log(`         ${file}`);
    all.push(await measureAlone());
  }
  return { rows: all.flatMap(({ rows }) => rows), notes: all.flatMap(({ notes }) => notes) };
}

async function bench(name: string): Promise<void> {
  const measuredAlone = await benchAlone();
  await upFromEnvironment({ ...process.env, LAB: name, TOPOLOGY: '', LAB_WITHOUT: '' });
  const lab = openLab(name);
  const rows: Row[] = [];
  const inLab = globSync('*.bench.ts', { cwd: import.meta.dirname }).filter((file) => !(file in alone));
  for (const file of inLab.toSorted()) {
    console.log(`         ${file}`);
    const { measure } = (await import(pathToFileURL(join(import.meta.dirname, file)).href)) as {
      measure: (lab: LabHandle) => Promise<Row[]>;
    };
    rows.push(...(await measure(lab)));
  }
  const notes = measuredAlone.notes.map((note) => `\n\n${note}`).join('');
  const text = `${await machine()}\n\n${renderTable([...rows, ...measuredAlone.rows])}${notes}`;
  console.log(`\n${text}`);
  rewritePart('figures', text);
}

await runBench('bench', bench);
