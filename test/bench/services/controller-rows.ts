/** Ten thousand Services and the controller: loaded from nothing, and started on what is there. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { schemaFile, startOvsdbServer } from 'ovsdb-client/testing';
import { node24 } from '../../lab/rooms.ts';
import { run } from '../../lab/run.ts';
import { readNorthbound } from '../../system/controller-bed.ts';
import { apiWrites, writesBetween } from '../api-writes.ts';
import { median } from '../row.ts';
import type { ControllerProcess, ScaleBed } from '../scale-bed.ts';
import { bareRow } from './balancers.ts';
import type { ServiceRow } from './measurement.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const starts = 3;
/** What a start writes late shows by then. */
const settleMs = 5000;
const loadTimeoutMs = 120_000;

interface Started {
  readonly controller: ControllerProcess;
  readonly writes: number;
}

/** Starts the controller, and counts rows and objects that it writes. */
async function startCounted({ bed }: ScaleBed, begin: () => Promise<ControllerProcess>): Promise<Started> {
  const [writes, rows] = [await apiWrites(bed.kube), bed.changes];
  const controller = await begin();
  await pause(settleMs);
  const objects = [...writesBetween(writes, await apiWrites(bed.kube)).values()];
  return { controller, writes: objects.reduce((sum, one) => sum + one, 0) + bed.changes - rows };
}

/** Seconds of the floor; `file`: rows to write, to a database of its own. */
async function bareSeconds(scale: ScaleBed, remote: string, ...file: readonly string[]): Promise<number> {
  const argv = [node24, join(import.meta.dirname, 'bare-load.ts'), scale.bed.api.kubeconfig, remote, ...file];
  return Number(await run(argv, { timeoutMs: loadTimeoutMs }));
}

/** Loads the rows from nothing; the controller runs on. */
async function loadFromEmpty(scale: ScaleBed, count: number): Promise<{ seconds: number; floor: number }> {
  const { bed } = scale;
  const begun = performance.now();
  const controller = await scale.start();
  await eventually(
    'all load balancers',
    () => bed.rows('Load_Balancer').length > count || notYet(`${String(bed.rows('Load_Balancer').length)} are there`),
    loadTimeoutMs,
    20,
  );
  const seconds = (performance.now() - begun) / 1000;
  await scale.quiet();
  await controller.stop();
  const file = join(scale.dir, 'rows.json');
  writeFileSync(file, JSON.stringify(bed.rows('Load_Balancer').map(bareRow)));
  const other = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  // The database of the controller has a reader, too: this process.
  const reader = await readNorthbound(other.remote);
  const floor = await bareSeconds(scale, other.remote, file);
  await reader.close();
  await other.stop();
  return { seconds, floor };
}

/** The controller is stopped before and afterwards. */
export async function measureController(scale: ScaleBed, count: number): Promise<readonly ServiceRow[]> {
  const loaded = await loadFromEmpty(scale, count);
  const [seconds, floors]: [number[], number[]] = [[], []];
  let writes = 0;
  for (let at = 0; at < starts; at += 1) {
    floors.push(await bareSeconds(scale, scale.bed.server.remote));
    const started = await startCounted(scale, () => scale.start());
    seconds.push(started.controller.startMs / 1000);
    writes += started.writes;
    await started.controller.stop();
  }
  const what = `${count.toLocaleString('en')} Services`;
  return [
    {
      what: `${what}: controller started on a database without them, until all rows are there`,
      unit: 's',
      ours: loaded.seconds,
      floor: loaded.floor,
      floorIs: 'a program that reads the same objects and writes the same rows in bare transactions',
      target: { timesFloor: 1.5 },
    },
    {
      what: `${what}: controller started again, until its first round is done, median of ${String(starts)}`,
      unit: 's',
      ours: median(seconds),
      floor: median(floors),
      floorIs: 'a program that reads the same and does nothing',
      target: 15,
    },
    {
      what: `${what}: controller started again ${String(starts)} times: rows and objects written`,
      unit: 'writes',
      ours: writes,
      floor: 0,
      floorIs: 'none',
      target: 0,
    },
  ];
}
