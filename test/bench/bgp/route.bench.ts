/** One pod that becomes ready, until the router's bgpd has its address, and until its kernel has. */
import { quantile } from '../row.ts';
import type { BgpBed } from './bed.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { addressOf, prefixOf, firstSingle } from './pods.ts';
import { RawGobgp, rawPath } from './raw.ts';
import { KernelWatch } from './tor.ts';

const samples = Number(process.env['BGP_SAMPLES'] ?? 200);

interface Times {
  readonly bgpd: number[];
  readonly kernel: number[];
}

/** The time of each step is taken from when `announce` resolves to. */
async function timesOf(
  bed: BgpBed,
  fib: KernelWatch,
  announce: (at: number) => Promise<number>,
  withdraw: (at: number) => Promise<void>,
): Promise<Times> {
  const times: Times = { bgpd: [], kernel: [] };
  for (let at = 0; at < samples; at += 1) {
    const pod = firstSingle + at;
    const arrived = bed.tor.until(prefixOf(pod));
    const started = await announce(at);
    times.bgpd.push(Math.max(0, (await arrived) - started));
    times.kernel.push((await fib.until(addressOf(pod))) - started);
    await withdraw(at);
    await bed.tor.until(prefixOf(pod), false);
    await fib.until(addressOf(pod), false);
  }
  return times;
}

/** The speaker is frozen, because it would withdraw routes outside its plan. */
async function bare(bed: BgpBed, fib: KernelWatch): Promise<Times> {
  const tag = await bed.tag();
  const gobgp = new RawGobgp(bed.gobgpd.target);
  bed.speaker.freeze();
  try {
    // Nothing of a first call is in the figures.
    await gobgp.withdraw([rawPath(addressOf(firstSingle), tag)]);
    return await timesOf(
      bed,
      fib,
      async (at) => {
        const started = performance.now();
        await gobgp.addPath(rawPath(addressOf(firstSingle + at), tag));
        return started;
      },
      (at) => gobgp.withdraw([rawPath(addressOf(firstSingle + at), tag)]),
    );
  } finally {
    bed.speaker.thaw();
    gobgp.close();
  }
}

async function one(bed: BgpBed, others: string): Promise<BgpRow[]> {
  const fib = await KernelWatch.open(bed.tor.peer.namespace);
  try {
    const floor = await bare(bed, fib);
    const ours = await timesOf(
      bed,
      fib,
      (at) => bed.addPod(at),
      (at) => bed.removePod(at),
    );
    const floorIs = 'AddPath by grpc-js on the same gobgpd → the same router';
    const row = (where: string, of: keyof Times, share: number, target: number): BgpRow => ({
      what: `A pod is ready → ${where}${others}: ${share === 0.5 ? 'median' : '99th percentile'} of ${String(samples)}`,
      unit: 'ms',
      ours: quantile(ours[of], share),
      target,
      floor: quantile(floor[of], share),
      floorIs,
    });
    return [
      row("FRR's bgpd", 'bgpd', 0.5, 20),
      row("FRR's bgpd", 'bgpd', 0.99, 60),
      row('the kernel of the router', 'kernel', 0.99, 150),
    ];
  } finally {
    fib.close();
  }
}

async function routes(bed: BgpBed): Promise<BgpRow[]> {
  await bed.createSingles(0, samples);
  await bed.announce([]);
  const alone = await one(bed, '');
  const count = await bed.announce(['hundred', 'thousand', 'rest']);
  const among = await one(bed, `, ${count.toLocaleString('en')} routes there`);
  return [...alone, ...among];
}

export const measurements: readonly Measurement[] = [{ name: 'route', measure: routes }];
