/** Many addresses outside and the controller, without OVN: loaded from nothing, one rule more, and started on what is there. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { schemaFile, startOvsdbServer } from 'ovsdb-client/testing';
import { reflect } from '../../../lib/kube/reflector.ts';
import { ovnDnatRules, ovnEips } from '../../../lib/kube/resources.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';
import { node24 } from '../../lab/rooms.ts';
import { run } from '../../lab/run.ts';
import { readNorthbound } from '../../system/controller-bed.ts';
import { apiWrites, writesBetween } from '../api-writes.ts';
import { median, quantile } from '../row.ts';
import { ScaleBed } from '../scale-bed.ts';
import { bareRowsOf, countVips } from './bare-rows.ts';
import type { EdgeRow, Measurement } from './measurement.ts';
import { create, createOutside, createRules, dnatSpec, numbers, type Counts } from './objects.ts';

const part = Number(process.env['RULES'] ?? '1');
export const isFullSize = part === 1;
const counts: Counts = { fips: 1000 / part, dnats: 5000 / part };
const changes = 50;
const loadTimeoutMs = 120_000;
/** What a start writes late shows by then. */
const settleMs = 5000;
/** Between two changes: each is alone. */
const pauseMs = 100;

interface Loaded {
  readonly seconds: number;
  readonly floor: number;
}

/** The rows of all rules from nothing, and those of a bare program. */
async function load(scale: ScaleBed): Promise<Loaded> {
  const { bed } = scale;
  const begun = performance.now();
  const controller = await scale.start();
  await eventually(
    'all rows',
    () => {
      const [nats, vips] = [bed.rows('NAT').length, countVips(bed.rows('Load_Balancer'))];
      return (nats >= counts.fips && vips >= counts.dnats) || notYet(`${String(nats)} and ${String(vips)} are there`);
    },
    loadTimeoutMs,
    20,
  );
  const seconds = (performance.now() - begun) / 1000;
  await scale.quiet();
  await controller.stop();
  const file = join(scale.dir, 'rows.json');
  writeFileSync(file, JSON.stringify(bareRowsOf((table) => bed.rows(table))));
  const other = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  // The database of the controller has a reader, too: this process.
  const reader = await readNorthbound(other.remote);
  const argv = [node24, join(import.meta.dirname, 'bare-load.ts'), bed.api.kubeconfig, other.remote, file];
  const floor = Number(await run(argv, { timeoutMs: loadTimeoutMs }));
  await reader.close();
  await other.stop();
  return { seconds, floor };
}

/** Milliseconds from a new OvnDnatRule, as this process sees it, to its row; and of bare changes of the same row. */
async function oneMore(
  scale: ScaleBed,
): Promise<{ readonly ours: readonly number[]; readonly bare: readonly number[] }> {
  const { bed } = scale;
  const controller = await scale.start();
  await create(bed.kube, ovnEips, 'more', {});
  const reading = new AbortController();
  const rules = reflect({
    client: bed.kube,
    resource: ovnDnatRules,
    parse: ({ metadata }) => metadata.name,
    signal: reading.signal,
  });
  await rules.synced;
  const vipsOf = (name: string): Readonly<Record<string, string>> =>
    (bed.row('Load_Balancer', name)?.['vips'] ?? {}) as Readonly<Record<string, string>>;
  const until = async (name: string, count: number): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const look = (): void => void (Object.keys(vipsOf(name)).length >= count && resolve(performance.now()));
    const unsubscribe = bed.nb.subscribe(look);
    look();
    const at = await promise;
    unsubscribe();
    return at;
  };
  const ours: number[] = [];
  for (const at of numbers(changes)) {
    const name = `more-${String(at)}`;
    const { promise: seen, resolve } = Promise.withResolvers<number>();
    const unsubscribe = rules.subscribe(({ key }) => void (key === name && resolve(performance.now())));
    const written = until('eip@more/tcp', at + 1);
    await create(bed.kube, ovnDnatRules, name, { ...dnatSpec(at, 'more'), externalPort: String(20_000 + at) });
    ours.push(Math.max(0, (await written) - (await seen)));
    unsubscribe();
    await pause(pauseMs);
  }
  reading.abort();
  await scale.quiet();
  await controller.stop();
  const bare: number[] = [];
  await bed.nb.transact([{ op: 'insert', table: 'Load_Balancer', row: { name: 'bench', protocol: 'tcp' } }]);
  for (const at of numbers(changes)) {
    const begun = performance.now();
    const written = until('bench', at + 1);
    const vips = { [`172.20.255.1:${String(20_000 + at)}`]: '10.90.0.9:8080' };
    const where = [['name', '==', 'bench']] as const;
    await bed.nb.transact([{ op: 'mutate', table: 'Load_Balancer', where, mutations: [['vips', 'insert', vips]] }]);
    bare.push((await written) - begun);
    await pause(pauseMs);
  }
  await bed.nb.transact([{ op: 'delete', table: 'Load_Balancer', where: [['name', '==', 'bench']] }]);
  return { ours, bare };
}

/** Rows and objects that a start writes. */
async function restart(scale: ScaleBed): Promise<number> {
  const { bed } = scale;
  const [writes, rows] = [await apiWrites(bed.kube), bed.changes];
  const controller = await scale.start();
  await pause(settleMs);
  const objects = [...writesBetween(writes, await apiWrites(bed.kube)).values()];
  await controller.stop();
  return objects.reduce((sum, one) => sum + one, 0) + bed.changes - rows;
}

async function measure(): Promise<readonly EdgeRow[]> {
  const scale = await ScaleBed.open();
  try {
    const first = await scale.start();
    await createOutside(scale.bed.kube);
    await eventually(
      'the port of the router',
      () => scale.bed.row('Logical_Router_Port', 'blue-external') !== undefined,
    );
    await scale.quiet();
    await first.stop();
    await createRules(scale.bed.kube, counts);
    const loaded = await load(scale);
    const more = await oneMore(scale);
    return rowsOf(loaded, more, await restart(scale));
  } finally {
    await scale.close();
  }
}

function rowsOf(
  loaded: Loaded,
  { ours, bare }: { readonly ours: readonly number[]; readonly bare: readonly number[] },
  writes: number,
): readonly EdgeRow[] {
  const all = `${counts.fips.toLocaleString('en')} OvnFips and ${counts.dnats.toLocaleString('en')} OvnDnatRules`;
  const one = `One OvnDnatRule more beside ${all}: object seen → row seen`;
  const bareChange = 'a bare transaction with the same change';
  return [
    {
      what: `${all} with OvnEips: controller started on a database without them, until all rows are there`,
      unit: 's',
      ours: loaded.seconds,
      floor: loaded.floor,
      floorIs: 'a program that reads the same objects and writes the same rows in bare transactions',
      target: 5,
    },
    {
      what: `${one}, median of ${String(changes)}`,
      unit: 'ms',
      ours: median(ours),
      floor: median(bare),
      floorIs: bareChange,
      target: 50,
    },
    {
      what: `${one}, 99th percentile of ${String(changes)}`,
      unit: 'ms',
      ours: quantile(ours, 0.99),
      floor: quantile(bare, 0.99),
      floorIs: bareChange,
      target: undefined,
    },
    {
      what: `${all}: controller started again: rows and objects written`,
      unit: 'writes',
      ours: writes,
      floor: 0,
      floorIs: 'none',
      target: 0,
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'scale', measure }];
