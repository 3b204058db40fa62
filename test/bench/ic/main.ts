/**
 * `make bench-ic`: runs every measurement between clusters in its own labs and replaces the table in
 * docs/performance.md. A failed measurement is named below the table, and the command exits with 1.
 * ONLY=text: measurements whose name contains it. IC_LAB=name: uses and keeps that lab, and leaves the page unchanged.
 */
import { join } from 'node:path';
import { takeDown } from '../../lab/down.ts';
import { openLab } from '../../lab/lib/lab.ts';
import { upFromEnvironment } from '../../lab/main.ts';
import { measureEach, notMeasured, type Outcome } from '../measure-each.ts';
import { machine, rewritePart } from '../page.ts';
import { runBench } from '../program.ts';
import { isWhole, selected } from '../selection.ts';
import { IcBed } from './bed.ts';
import { measurements as changes } from './changes.bench.ts';
import { measurements as chaos } from './chaos.bench.ts';
import { measurements as cluster } from './cluster.bench.ts';
import { measurements as databases } from './databases.bench.ts';
import { measurements as gateway } from './gateway.bench.ts';
import { type IcRow, type Measurement, renderRows } from './measurement.ts';
import { measurements as membership } from './membership.bench.ts';
import { measurements as overlap } from './overlap.bench.ts';
import { measurements as scale } from './scale.bench.ts';
import { measurements as manySubnets } from './subnets.bench.ts';
import { loneVpc, twoNodes } from './witness.bench.ts';

const topologies = join(import.meta.dirname, '../../lab/topologies');

interface Group {
  readonly topology: string;
  /** For clusters without a version in the topology; by default that of the environment, else this machine's own. */
  readonly ovn?: string;
  readonly measurements: readonly Measurement[];
}

/** The oldest and the newest release: OVN's code for a cluster of two nodes differs between them. */
const pairsOn = ['23.03', '25.03'];

const groups: readonly Group[] = [
  {
    topology: 'interconnect.yaml',
    measurements: [...gateway, ...changes, ...databases, ...membership, ...overlap, ...cluster, ...loneVpc, ...chaos],
  },
  ...pairsOn.map((ovn) => ({ topology: 'pairs.yaml', ovn, measurements: twoNodes(ovn) })),
  { topology: 'hub-and-one.yaml', measurements: scale },
  { topology: 'many-subnets.yaml', measurements: manySubnets },
];

async function measureIn(name: string, measurements: readonly Measurement[]): Promise<Outcome<IcRow>> {
  const bed = new IcBed(openLab(name));
  await bed.prepare();
  return measureEach(measurements, bed);
}

async function inLab(name: string, group: Group): Promise<Outcome<IcRow>> {
  const { topology, ovn } = group;
  const release = ovn === undefined ? {} : { ISTHMUS_OVN: ovn };
  const lab = { LAB: name, TOPOLOGY: join(topologies, topology), LAB_WITHOUT: '' };
  await upFromEnvironment({ ...process.env, ...release, ...lab });
  const outcome = await measureIn(name, group.measurements);
  await takeDown(name);
  return outcome;
}

async function bench(name: string): Promise<void> {
  const chosen = new Set(selected(groups.flatMap(({ measurements }) => measurements)));
  const wanted = groups
    .map(({ measurements, ...group }) => ({ ...group, measurements: measurements.filter((one) => chosen.has(one)) }))
    .filter(({ measurements }) => measurements.length > 0);
  const standing = process.env['IC_LAB'];
  const outcomes: Outcome<IcRow>[] = [];
  for (const group of wanted)
    outcomes.push(standing === undefined ? await inLab(name, group) : await measureIn(standing, group.measurements));
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  const text = `${await machine()}\n\n${renderRows(outcomes.flatMap(({ rows }) => rows))}${notMeasured(failures)}`;
  console.log(`\n${text}`);
  if (standing === undefined && isWhole) rewritePart('interconnect', text);
  if (failures.length > 0) process.exitCode = 1;
}

await runBench('ic', bench);
