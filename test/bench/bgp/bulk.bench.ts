/** From no route to very many on an established session, until the router's bgpd has the last one. */
import { join } from 'node:path';
import { run } from '../../lab/run.ts';
import { node24 } from '../../lab/rooms.ts';
import { median } from '../row.ts';
import { type BgpBed, profiling } from './bed.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { addressOf } from './pods.ts';
import { vtyOf } from './tor.ts';
import { messagesOf, RawGobgp, rawPath } from './raw.ts';

const runs = 3;
const large = Number(process.env['BGP_LARGE'] ?? 100_000);

/** Milliseconds of a raw stream into the same gobgpd until bgpd has all; the speaker is frozen meanwhile. */
export async function rawStream(bed: BgpBed, count: number): Promise<number> {
  const tag = await bed.tag();
  const before = await bed.tor.count();
  const paths = Array.from({ length: count }, (_, at) => rawPath(addressOf(firstRaw + at), tag));
  const messages = messagesOf(paths);
  const gobgp = new RawGobgp(bed.gobgpd.target);
  bed.speaker.freeze();
  try {
    await gobgp.withdraw(paths.slice(0, 1));
    const started = performance.now();
    const [arrived] = await Promise.all([bed.tor.untilCount(before + count), gobgp.stream(messages)]);
    await gobgp.withdraw(paths);
    await bed.tor.untilCount(before);
    return arrived - started;
  } finally {
    bed.speaker.thaw();
    gobgp.close();
  }
}

/** Addresses that no pod has. */
const firstRaw = 20_000;

async function pods(bed: BgpBed): Promise<BgpRow[]> {
  await bed.ensurePods();
  const all = ['hundred', 'thousand', 'rest'] as const;
  const [ours, floor]: [number[], number[]] = [[], []];
  let count = 0;
  for (let at = 0; at < runs; at += 1) {
    await bed.announce([]);
    floor.push(await rawStream(bed, 10_000));
    const started = await bed.ask(all);
    count = bed.announced;
    ours.push((await bed.tor.untilCount(count)) - started);
  }
  return [
    {
      what: `A BgpAdvertisement takes ${count.toLocaleString('en')} pods that are there → all in FRR, median of ${runs}`,
      unit: 's',
      ours: median(ours) / 1000,
      target: 0.6,
      floor: median(floor) / 1000,
      floorIs: 'a raw stream of as many paths into the same gobgpd, until all are in FRR',
    },
  ];
}

/** The speaker's own parts, in a process that makes the state instead of reading it: a hundred thousand objects are too many for this API server. */
async function state(bed: BgpBed): Promise<BgpRow[]> {
  await bed.announce([]);
  const floor = await rawStream(bed, large);
  await bed.speaker.end();
  try {
    const program = join(import.meta.dirname, 'large-state.ts');
    const { address, nodeAddress, peer } = bed.tor;
    const args = [bed.gobgpd.target, address, nodeAddress, vtyOf(peer), String(large)];
    const [ours = 0, rendered = 0] = (await run([node24, ...profiling(), program, ...args], { timeoutMs: 120_000 }))
      .split(' ')
      .map(Number);
    return [
      {
        what: `${large.toLocaleString('en')} pods in the speaker's state → all in FRR, from before they are planned (without the API; planned after ${Math.round(rendered)} ms)`,
        unit: 's',
        ours: ours / 1000,
        target: 4,
        floor: floor / 1000,
        floorIs: 'a raw stream of as many paths into the same gobgpd, until all are in FRR',
      },
    ];
  } finally {
    await bed.startSpeaker();
    await bed.tor.untilCount(bed.announced);
  }
}

export const measurements: readonly Measurement[] = [
  { name: 'bulk', measure: pods },
  { name: 'large', measure: state },
];
