/**
 * Ten thousand pods: load from empty, start of the controller, its memory, and single pods that
 * are added and removed. On separate servers, before the lab exists; each figure has its floor from the same servers.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkout } from '../lab/layout.ts';
import { node24 } from '../lab/rooms.ts';
import { run } from '../lab/run.ts';
import { idleShare } from './profile.ts';
import { median, quantile, type Measured, type Row } from './row.ts';
import { cpuSeconds } from './processes.ts';
import { ScaleBed, type ControllerProcess } from './scale-bed.ts';
import { apiWrites, perPod, writesBetween } from './api-writes.ts';
import { BareRows, Changes, quantileOfHistogram } from './scale-changes.ts';
import { createNetworks, createPod, forAll, podAt, podManifest, writeAddress } from './scale-pods.ts';
import { ips, pods } from '../../lib/kube/resources.ts';

/** Number of pods for the floor of the load: enough for a steady figure, few enough to be quick. */
const bareCount = 1000;
const starts = 3;
const changed = 300;
/** Time until a heap that has just grown is collected. */
const settleMs = 10_000;

/** Writes the same pods, annotations, IP objects and rows in a loop without computing them; returns seconds per pod. */
async function loadBare({ bed }: ScaleBed): Promise<number> {
  const bare = new BareRows(bed.nb);
  await bare.open();
  const all = Array.from({ length: bareCount }, (_, at) => podAt(at, 'bare'));
  const started = performance.now();
  await forAll(all, async (pod) => {
    await bed.kube.create(pods, podManifest(pod, 'bare'));
    await Promise.all([bare.add(pod), writeAddress(bed.kube, pod)]);
  });
  const seconds = (performance.now() - started) / 1000;
  await bare.close();
  await forAll(all, async ({ namespace, name }) => {
    await bed.deletePod(name, namespace);
    await bed.kube.delete(ips, { name: `${name}.${namespace}` });
  });
  return seconds / bareCount;
}

interface Loaded {
  readonly seconds: number;
  readonly writes: ReadonlyMap<string, number>;
  /** Cores each process had, on average. */
  readonly cores: ReadonlyMap<string, number>;
}

async function load(scale: ScaleBed, controller: ControllerProcess, count: number): Promise<Loaded> {
  const pids = Object.entries({ ...scale.servers(), controller: controller.pid, 'this benchmark': process.pid });
  const cpu = (): readonly number[] => pids.map(([, pid]) => cpuSeconds(pid));
  const [writes, cpuBefore, started] = [await apiWrites(scale.bed.kube), cpu(), performance.now()];
  const all = Array.from({ length: count }, (_, at) => podAt(at));
  await forAll(all, (pod) => createPod(scale.bed.kube, pod));
  await scale.untilReported(count, writes);
  const seconds = (performance.now() - started) / 1000;
  const cores = cpu().map((now, at) => [pids[at]?.[0] ?? '', (now - (cpuBefore[at] ?? 0)) / seconds] as const);
  await scale.quiet();
  return { seconds, cores: new Map(cores), writes: writesBetween(writes, await apiWrites(scale.bed.kube)) };
}

/** Starts the controller on the existing state: duration, and writes meanwhile. */
async function startOnce(scale: ScaleBed): Promise<{ controller: ControllerProcess; rows: number; objects: number }> {
  const [writes, rows] = [await apiWrites(scale.bed.kube), scale.bed.changes];
  const controller = await scale.start();
  await pause(settleMs);
  const written = [...writesBetween(writes, await apiWrites(scale.bed.kube)).values()];
  return { controller, rows: scale.bed.changes - rows, objects: written.reduce((sum, one) => sum + one, 0) };
}

/** The floor: a program that reads the same objects and rows as the controller, and does nothing. */
async function readOnce({ bed }: ScaleBed): Promise<number> {
  const argv = [node24, join(import.meta.dirname, 'scale-reader.ts'), join(bed.api.dir, 'controller.kubeconfig')];
  return Number(await run([...argv, bed.server.remote], { timeoutMs: 120_000 }));
}

function row(what: string, unit: Row['unit'], [ours, floor]: readonly [number, number], floorIs: string): Row {
  return { what, unit, ours, floor, floorIs };
}

async function measureLoad(scale: ScaleBed, count: number): Promise<Measured> {
  const bareSeconds = await loadBare(scale);
  await scale.quiet();
  const profiles = join(scale.dir, 'profiles');
  const controller = await scale.start(['--cpu-prof', '--cpu-prof-interval=5000', `--cpu-prof-dir=${profiles}`]);
  await scale.quiet();
  const { seconds, writes, cores } = await load(scale, controller, count);
  await controller.stop();
  const what = `10,000 pods loaded from nothing; ${perPod(writes, count)}`;
  const shares = [...cores].map(([name, share]) => `${name} ${share.toFixed(2)}`).join(', ');
  const idle = idleShare(profiles) * 100;
  return {
    rows: [
      row(
        what,
        's',
        [seconds, bareSeconds * count],
        `as many of the same creations, patches and inserts from a bare loop (${String(bareCount)} measured)`,
      ),
    ],
    notes: [
      `While 10,000 pods were loaded, the processes used this many cores: ${shares}. The controller waited for ${idle.toFixed(0)} % of the time, by its CPU profile.`,
    ],
  };
}

async function measureStarts(
  scale: ScaleBed,
  emptyMb: number,
): Promise<Measured & { readonly last: ControllerProcess }> {
  const [seconds, floors, memory, peaks]: number[][] = [[], [], [], []];
  let [rows, objects] = [0, 0];
  for (let at = 0; ; at += 1) {
    floors?.push(await readOnce(scale));
    const { controller, ...written } = await startOnce(scale);
    rows += written.rows;
    objects += written.objects;
    seconds?.push(controller.startMs / 1000);
    memory?.push(controller.memoryMb('VmRSS'));
    peaks?.push(controller.memoryMb('VmHWM'));
    if (at < starts - 1) {
      await controller.stop();
      continue;
    }
    const figures = (list: number[] | undefined): number => median(list ?? []);
    const wrote = `${String(rows)} rows of the database and ${String(objects)} Kubernetes objects written`;
    return {
      rows: [
        row(
          `Controller started on 10,000 pods, until its first round is done, median of ${String(starts)}; ${wrote}`,
          's',
          [figures(seconds), figures(floors)],
          'a program that reads the same and does nothing',
        ),
        row(
          `Memory of the controller (RSS) at 10,000 pods, median of ${String(starts)} starts; ${figures(peaks).toFixed(0)} MB at its highest`,
          'MB',
          [figures(memory), emptyMb],
          'the same on an empty cluster',
        ),
      ],
      notes: [],
      last: controller,
    };
  }
}

async function measureChanges(scale: ScaleBed, controller: ControllerProcess): Promise<Measured> {
  const changes = await Changes.open(scale.bed);
  const before = await controller.metrics();
  const ours = await changes.measure(changed);
  const after = await controller.metrics();
  const memory = controller.memoryMb('VmRSS');
  await controller.stop();
  const floor = await changes.measureBare(changed);
  await changes.close();
  const sentMs = quantileOfHistogram('isthmus_controller_event_to_transaction_seconds', 0.99, { before, after }) * 1000;
  const p99 = (list: readonly number[]): number => quantile(list, 0.99);
  const what = `One pod among 10,000 comes or goes, 99th percentile of ${String(changed * 2)}`;
  return {
    rows: [
      row(
        `${what}: event received → transaction sent, as the controller reports`,
        'ms',
        [sentMs, 5],
        'the time from one transaction to the next in a burst, as configured',
      ),
      row(
        `${what}: event seen → row of the database seen`,
        'ms',
        [p99(ours), p99(floor)],
        'a bare program that inserts the row when it sees the pod',
      ),
    ],
    notes: [`After these changes the controller had ${memory.toFixed(0)} MB.`],
  };
}

/** Needs no lab; runs before the lab, alone on the machine. */
export async function measureAlone(count = 10_000): Promise<Measured> {
  process.chdir(checkout);
  const scale = await ScaleBed.open();
  try {
    const empty = await scale.start();
    await pause(settleMs);
    const emptyMb = empty.memoryMb('VmRSS');
    await createNetworks(scale.bed.kube);
    await scale.quiet();
    await empty.stop();
    const loaded = await measureLoad(scale, count);
    const started = await measureStarts(scale, emptyMb);
    const after = await measureChanges(scale, started.last);
    const parts = [loaded, started, after];
    return { rows: parts.flatMap(({ rows }) => rows), notes: parts.flatMap(({ notes }) => notes) };
  } finally {
    await scale.close();
  }
}
