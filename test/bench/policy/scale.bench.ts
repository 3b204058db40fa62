/** A thousand policies of ten thousand pods: planned, written from nothing, and started on. No OVN runs: its processing of the rows is not the controller's work. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { schemaFile, startOvsdbServer } from 'ovsdb-client/testing';
import { planAll } from '../../../controller/testing-groups.ts';
import { clusterOfPolicies } from '../../../controller/testing-policies.ts';
import { cpuMsOf } from '../../../lib/testing-growth.ts';
import { checkout } from '../../lab/layout.ts';
import { node24 } from '../../lab/rooms.ts';
import { run } from '../../lab/run.ts';
import { readNorthbound } from '../../system/controller-bed.ts';
import { apiWrites, writesBetween } from '../api-writes.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';
import { median } from '../row.ts';
import { ScaleBed } from '../scale-bed.ts';
import { createNetworks } from '../scale-pods.ts';
import { insertsOf, wipe } from './bare-rows.ts';
import type { Measurement, PolicyRow } from './measurement.ts';
import { applicationCount, createPolicies, createPolicyPods } from './objects.ts';
import { sizes } from './sizes.ts';

const { pods, policies } = sizes;
const [plans, starts] = [5, 3];
/** What a start writes late shows by then, and a heap that has just grown is collected. */
const settleMs = 10_000;
const loadTimeoutMs = 300_000;
/** Those that the controller writes here, rows before what they refer to. */
const tables = ['Logical_Switch', 'Logical_Router', 'Port_Group', 'Address_Set', 'DHCP_Options', 'Load_Balancer_Group'];
const parts = [
  'Logical_Switch_Port',
  'Logical_Router_Port',
  'Logical_Router_Policy',
  'Logical_Router_Static_Route',
  'ACL',
  'QoS',
];
const count = (value: number): string => value.toLocaleString('en');
const what = `${count(policies)} policies, ${count(pods)} pods`;

/** In this process, without a database; the same pods without policies in turn. */
async function measurePlans(): Promise<PolicyRow> {
  const [many, none] = [clusterOfPolicies(policies, pods), clusterOfPolicies(0, pods)];
  const [ours, floor]: [number[], number[]] = [[], []];
  for (let at = 0; at < plans; at += 1) {
    ours.push((await cpuMsOf(() => planAll(many))) / 1000);
    floor.push((await cpuMsOf(() => planAll(none))) / 1000);
  }
  return {
    what: `${what}: everything planned, median of ${String(plans)}`,
    unit: 's of CPU',
    ours: median(ours),
    floor: median(floor),
    floorIs: 'the same pods without policies',
    target: 10,
  };
}

interface Started {
  readonly seconds: number;
  readonly writes: number;
  readonly memoryMb: number;
  readonly peakMb: number;
}

/** Starts the controller on what is there, and stops it. */
async function startOnce(scale: ScaleBed): Promise<Started> {
  const { bed } = scale;
  const [writes, rows] = [await apiWrites(bed.kube), bed.changes];
  const controller = await scale.start();
  await pause(settleMs);
  const objects = [...writesBetween(writes, await apiWrites(bed.kube)).values()];
  const started = {
    seconds: controller.startMs / 1000,
    writes: objects.reduce((sum, one) => sum + one, 0) + bed.changes - rows,
    memoryMb: controller.memoryMb('VmRSS'),
    peakMb: controller.memoryMb('VmHWM'),
  };
  await controller.stop();
  return started;
}

async function startedMedian(scale: ScaleBed): Promise<Started> {
  const all: Started[] = [];
  for (let at = 0; at < starts; at += 1) all.push(await startOnce(scale));
  const of = (key: keyof Started): number => median(all.map((one) => one[key]));
  const writes = all.reduce((sum, one) => sum + one.writes, 0);
  return { seconds: of('seconds'), writes, memoryMb: of('memoryMb'), peakMb: of('peakMb') };
}

/** Seconds of a program that reads the same, and writes the operations of the file, if there is one. */
async function bareSeconds({ bed }: ScaleBed, remote: string, ...file: readonly string[]): Promise<number> {
  const argv = [node24, join(import.meta.dirname, 'bare-load.ts'), bed.api.kubeconfig, remote, ...file];
  return Number(await run(argv, { timeoutMs: loadTimeoutMs }));
}

/** The controller starts on an empty database; seconds until the last row is there. */
async function loadFromNothing(scale: ScaleBed): Promise<{ readonly seconds: number; readonly floor: number }> {
  const { bed } = scale;
  await wipe(bed.nb, tables);
  await scale.quiet();
  const begunMs = performance.now();
  let lastMs = begunMs;
  const unsubscribe = bed.nb.subscribe(() => (lastMs = performance.now()));
  const controller = await scale.start();
  // One transaction of so many rows takes longer than a pause between others.
  const isThere = (): true | NotYet => {
    const [groups, ports] = [bed.rows('Port_Group').length, bed.rows('Logical_Switch_Port').length];
    return (groups >= 2 * policies && ports >= pods) || notYet(`${String(groups)} groups, ${String(ports)} ports`);
  };
  await eventually('all rows', isThere, loadTimeoutMs);
  await scale.quiet();
  unsubscribe();
  await controller.stop();
  const file = join(scale.dir, 'rows.json');
  writeFileSync(file, JSON.stringify(insertsOf(bed.nb, [...tables, ...parts])));
  const other = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  // The database of the controller has a reader, too: this process.
  const reader = await readNorthbound(other.remote);
  const floor = await bareSeconds(scale, other.remote, file);
  await reader.close();
  await other.stop();
  return { seconds: (lastMs - begunMs) / 1000, floor };
}

async function measure(): Promise<readonly PolicyRow[]> {
  process.chdir(checkout);
  const rows = [await measurePlans()];
  const scale = await ScaleBed.open();
  try {
    const { bed } = scale;
    const first = await scale.start();
    await createNetworks(bed.kube);
    const before = await apiWrites(bed.kube);
    console.log('           pods');
    await createPolicyPods(bed.kube, pods, applicationCount(policies));
    await scale.untilReported(pods, before);
    await scale.quiet();
    await first.stop();
    console.log('           starts without policies');
    const without = await startedMedian(scale);
    await createPolicies(bed.kube, policies);
    console.log('           from nothing');
    const loaded = await loadFromNothing(scale);
    console.log('           starts');
    const floors: number[] = [];
    for (let at = 0; at < starts; at += 1) floors.push(await bareSeconds(scale, bed.server.remote));
    const started = await startedMedian(scale);
    return [...rows, ...rowsOf({ loaded, started, without, readSeconds: median(floors) })];
  } finally {
    await scale.close();
  }
}

interface Figures {
  readonly loaded: { readonly seconds: number; readonly floor: number };
  readonly started: Started;
  readonly without: Started;
  readonly readSeconds: number;
}

function rowsOf({ loaded, started, without, readSeconds }: Figures): readonly PolicyRow[] {
  const again = `${what}: controller started again`;
  return [
    {
      what: `${what}: controller started on an empty database, until all rows are there`,
      unit: 's',
      ours: loaded.seconds,
      floor: loaded.floor,
      floorIs: 'a program that reads the same objects and writes the same rows in one bare transaction',
      target: undefined,
    },
    {
      what: `${again}, until its first round is done, median of ${String(starts)} (without the policies ${without.seconds.toFixed(2)} s)`,
      unit: 's',
      ours: started.seconds,
      floor: readSeconds,
      floorIs: 'a program that reads the same and does nothing',
      target: 20,
    },
    {
      what: `${again} ${String(starts)} times: rows and objects written`,
      unit: 'writes',
      ours: started.writes,
      floor: 0,
      floorIs: 'none',
      target: 0,
    },
    {
      what: `${again}: memory (RSS), median of ${String(starts)}; ${started.peakMb.toFixed(0)} MB at its highest`,
      unit: 'MB',
      ours: started.memoryMb,
      floor: without.memoryMb,
      floorIs: 'the same without the policies',
      target: 250,
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'scale', measure }];
