/** docs/performance.md: the parts that are written by commands, and the machine they ran on. */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { ovnProgram, versionIn } from 'ovsdb-client/testing';
import { checkout } from '../lab/layout.ts';
import { run } from '../lab/run.ts';

const page = join(checkout, 'docs/performance.md');
/** Load of this machine before the measurements. */
const load = (loadavg()[0] ?? 0).toFixed(1);

/** Versions of a lab's network programs. */
export async function ovnVersions(): Promise<string> {
  const version = async (program: string): Promise<string> => versionIn(await run([ovnProgram(program), '--version']));
  const [ovn, ovs] = await Promise.all(['ovn-nbctl', 'ovs-vsctl'].map(version));
  return `OVN ${ovn}, Open vSwitch ${ovs} (userspace datapath)`;
}

/** The machine, and the programs that were measured with ours: by default those of a lab. */
export async function machine(programs?: string): Promise<string> {
  const date = new Date().toISOString().slice(0, 10);
  return `${date} · ${cpus().length} cores, load ${load} at the start · Linux ${release()} · ${programs ?? (await ovnVersions())} · Node.js ${process.version}`;
}

/** Replaces the text between `<!-- <part>: begin -->` and `<!-- <part>: end -->`. @throws Error if the page has no such lines. */
export function rewritePart(part: string, text: string): void {
  const markers = [`<!-- ${part}: begin -->`, `<!-- ${part}: end -->`] as const;
  const [before = '', rest] = readFileSync(page, 'utf8').split(markers[0]);
  const after = rest?.split(markers[1])[1];
  if (after === undefined) throw new Error(`${page} has no lines ${markers.join(' and ')}`);
  writeFileSync(page, `${before}${markers[0]}\n\n${text}\n\n${markers[1]}${after}`);
}
