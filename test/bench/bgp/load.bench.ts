/** CPU and memory of speaker and gobgpd: idle, and while pods are added and removed. */
import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds, memoryMb } from '../processes.ts';
import type { BgpBed } from './bed.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { prefixOf, firstSingle } from './pods.ts';

const everything = ['hundred', 'thousand', 'rest'] as const;
const idleSeconds = Number(process.env['BGP_IDLE_SECONDS'] ?? 30);
const churnSeconds = Number(process.env['BGP_CHURN_SECONDS'] ?? 60);
const changesPerSecond = 50;
/** Time until pending work is done, heaps are collected, and statuses are written. */
const settleMs = 5000;

interface Use {
  readonly cpu: number;
  readonly memory: number;
}

/** Share of a core in percent over some time, and MB after it. */
async function useOf(pids: readonly number[], work: () => Promise<unknown>): Promise<readonly Use[]> {
  const before = pids.map(cpuSeconds);
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  return pids.map((pid, at) => ({
    cpu: (100 * (cpuSeconds(pid) - (before[at] ?? 0))) / seconds,
    memory: memoryMb(pid),
  }));
}

/** A speaker that did nothing else before. */
async function startAnew(bed: BgpBed, count: number): Promise<void> {
  await bed.speaker.end();
  await bed.startSpeaker();
  await bed.untilReady();
  await bed.tor.untilCount(count);
  await pause(settleMs);
}

async function idleAt(bed: BgpBed, count: number): Promise<readonly Use[]> {
  await startAnew(bed, count);
  return useOf([bed.speaker.pid, bed.gobgpd.pid], () => pause(idleSeconds * 1000));
}

/** Must come before there are pods. */
async function idle(bed: BgpBed): Promise<BgpRow[]> {
  const floor = await idleAt(bed, await bed.announce([]));
  const count = await bed.announce(everything);
  const ours = await idleAt(bed, count);
  const floorIs = 'the same with one route';
  return ['speaker', 'gobgpd'].flatMap((name, at): BgpRow[] => {
    const title = `Nothing happens for ${idleSeconds} s, ${count.toLocaleString('en')} routes: ${name}`;
    const [mine, least] = [ours[at], floor[at]];
    return [
      {
        what: `${title}, CPU`,
        unit: '% of a core',
        ours: mine?.cpu ?? 0,
        target: undefined,
        floor: least?.cpu ?? 0,
        floorIs,
      },
      {
        what: `${title}, memory (RSS)`,
        unit: 'MB',
        ours: mine?.memory ?? 0,
        target: undefined,
        floor: least?.memory ?? 0,
        floorIs,
      },
    ];
  });
}

/** Each pod becomes ready, and unready half a round later. */
async function change(bed: BgpBed, pods: number): Promise<void> {
  const started = performance.now();
  const all: Promise<unknown>[] = [];
  for (let at = 0; at < changesPerSecond * churnSeconds; at += 1) {
    await pause(Math.max(0, started + (at * 1000) / changesPerSecond - performance.now()));
    const pod = 600 + (at % pods);
    all.push(Math.floor(at / pods) % 2 === 0 ? bed.addPod(pod) : bed.removePod(pod));
  }
  await Promise.all(all);
}

async function churn(bed: BgpBed): Promise<BgpRow[]> {
  const pods = 100;
  await bed.createSingles(600, 600 + pods);
  const count = await bed.announce(everything);
  await startAnew(bed, count);
  const calls = (): Promise<number> => bed.speaker.metric('isthmus_speaker_gobgpd_calls_total', 'method="ListPath"');
  const before = await calls();
  const audits = churnSeconds / 60;
  const [speaker] = await useOf([bed.speaker.pid], () => change(bed, pods));
  const listings = (await calls()) - before;
  // All changes have come through: the last turn of the pods decides.
  const isReady = Math.floor((changesPerSecond * churnSeconds - 1) / pods) % 2 === 0;
  await bed.tor.until(prefixOf(firstSingle + 600 + pods - 1), isReady);
  for (let at = 0; at < pods; at += 1) await bed.removePod(600 + at);
  await bed.tor.untilCount(count);
  const idleShare = await useOf([bed.speaker.pid], () => pause(10_000));
  const title = `${changesPerSecond} changes a second for ${churnSeconds} s, ${count.toLocaleString('en')} routes`;
  return [
    {
      what: `${title}: CPU of the speaker`,
      unit: '% of a core',
      ours: speaker?.cpu ?? Number.NaN,
      target: 10,
      floor: idleShare[0]?.cpu ?? 0,
      floorIs: 'the same process while nothing happens',
    },
    {
      what: `${title}: ListPath calls beyond those of the audits, which come once a minute with two each`,
      unit: 'calls',
      ours: Math.max(0, listings - 2 * Math.ceil(audits)),
      target: 0,
      floor: 0,
      floorIs: 'none',
    },
  ];
}

export const idleMeasurements: readonly Measurement[] = [{ name: 'idle', measure: idle }];
export const measurements: readonly Measurement[] = [{ name: 'churn', measure: churn }];
