/** One endpoint more of a Service among many: the controller, ovn-controller, and the node. */
import { setTimeout as pause } from 'node:timers/promises';
import { run } from '../../lab/run.ts';
import { cpuSecondsWithChildren } from '../processes.ts';
import { median, quantile } from '../row.ts';
import { EndpointChanges } from './changes.ts';
import type { ServiceRow } from './measurement.ts';
import { cpuOf } from './node-rows.ts';
import { endpointAddress } from './objects.ts';
import { untilIdle, type ServiceScaleBed, table } from './scale-bed.ts';

/** So many Services have their endpoints changed, each once. */
export const changedServices = 100;
const everyMs = 200;

export interface ChangesOptions {
  /** Of the Services, in order. */
  readonly addresses: readonly string[];
  /** Endpoints of each Service, before it gets one more. */
  readonly width: number;
  /** CPU of kube-proxy for one, in milliseconds. */
  readonly peerMs: number | undefined;
}

interface Used {
  readonly times: readonly number[];
  /** For each change, in milliseconds of CPU. */
  readonly switchMs: number;
  readonly nodeMs: number;
}

/**
 * Runs the changes, and gives what ovn-controller and the daemon used for them, without what they use anyway. That is measured before and after
 * the changes: the smaller value has no work in it that only happened to be done then.
 */
async function cpuDuring({ node }: ServiceScaleBed, work: () => Promise<readonly number[]>): Promise<Used> {
  const pids = [node.pid('ovn-controller'), node.pid('daemon')];
  const used = async <T>(act: () => Promise<T>): Promise<{ result: T; seconds: readonly number[]; ms: number }> => {
    const startedMs = performance.now();
    const before = pids.map(cpuSecondsWithChildren);
    const result = await act();
    const seconds = pids.map((pid, at) => cpuSecondsWithChildren(pid) - (before[at] ?? 0));
    return { result, seconds, ms: performance.now() - startedMs };
  };
  const atRest = () => used(() => pause((changedServices * everyMs) / 3));
  for (const pid of pids) await untilIdle(pid);
  const rests = [await atRest()];
  const during = await used(async () => {
    const times = await work();
    await pause(everyMs);
    return times;
  });
  rests.push(await atRest());
  const each = (at: number): number => {
    const rest = Math.min(...rests.map(({ seconds, ms }) => ((seconds[at] ?? 0) * during.ms) / ms));
    return (((during.seconds[at] ?? 0) - rest) * 1000) / changedServices;
  };
  return { times: during.result, switchMs: each(0), nodeMs: each(1) };
}

/** The same elements from bare `nft`, a process for each change. The daemon does not run; gives milliseconds of CPU for each. */
async function bareNft({ addresses, width }: ChangesOptions): Promise<number> {
  const [family, name] = table;
  const texts = addresses.slice(0, changedServices).map((address, at) => {
    const key = `${address} . 6 . 80`;
    const of = (verb: string, set: string, element: string): string =>
      `${verb} element ${family} ${name} ${set} { ${element} }\n`;
    return [
      of('delete', 'services4', key),
      of('add', 'services4', `${key} : goto all4-${String(width + 1)}`),
      of('add', 'slots4', `${key} . ${String(width)} : ${endpointAddress(at, width)} . 8080`),
    ].join('');
  });
  const seconds = await cpuOf(async () => {
    for (const input of texts) await run(['nft', '-f', '-'], { input });
  });
  return (seconds * 1000) / texts.length;
}

/** The daemon and the controller are stopped before and afterwards. */
export async function measureChanges(bed: ServiceScaleBed, options: ChangesOptions): Promise<readonly ServiceRow[]> {
  const { scale, node } = bed;
  const { addresses, width, peerMs } = options;
  const last = addresses.at(-1) ?? '';
  const daemon = bed.startDaemon('on');
  const controller = await scale.start();
  await bed.cpuUntil(daemon, () => bed.isServed(last));
  await scale.quiet();
  for (const name of ['northd', 'ovn-controller']) await untilIdle(node.pid(name));
  const changes = await EndpointChanges.open(scale.bed);
  const before = scale.bed.changes;
  const plan = { count: changedServices, everyMs };
  const ours = await cpuDuring(bed, () => changes.measure({ ...plan, width: width + 1 }));
  const rowsWritten = (scale.bed.changes - before) / changedServices;
  await controller.stop();
  const bare = await cpuDuring(bed, () => changes.measureBare({ ...plan, width }));
  await changes.close();
  await untilIdle(daemon);
  await node.kill('daemon');
  const nftMs = await bareNft(options);
  const { length } = addresses;
  const what = `One endpoint more of one of ${length.toLocaleString('en')} Services with ${width === 1 ? 'one' : String(width)} each`;
  const bareIs = 'a bare program that writes the row when it sees the slice';
  return [
    {
      what: `${what}, controller: slice seen → row seen, median of ${String(changedServices)}`,
      unit: 'ms',
      ours: median(ours.times),
      floor: median(bare.times),
      floorIs: bareIs,
      target: undefined,
    },
    {
      what: `${what}, controller: slice seen → row seen, 99th percentile of ${String(changedServices)}`,
      unit: 'ms',
      ours: quantile(ours.times, 0.99),
      floor: quantile(bare.times, 0.99),
      floorIs: bareIs,
      target: 20,
    },
    {
      what: `${what}, controller: rows changed`,
      unit: 'rows',
      ours: rowsWritten,
      floor: 1,
      floorIs: 'the row of the Service',
      target: 1,
    },
    {
      what: `${what}: ovn-controller of a node`,
      unit: 'ms of CPU',
      ours: ours.switchMs,
      floor: bare.switchMs,
      floorIs: bareIs,
      target: 5,
    },
    {
      what: `${what}: daemon and nft of a node`,
      unit: 'ms of CPU',
      ours: ours.nodeMs,
      floor: nftMs,
      floorIs: '`nft` with the same elements',
      target: 15,
      ...(peerMs === undefined ? {} : { peer: peerMs }),
    },
  ];
}
