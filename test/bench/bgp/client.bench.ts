/** lib/gobgp compared with grpc-js alone, on a gobgpd without peers: the cost of encoding and checking values. */
import { type BgpPath, openGobgp } from '../../../lib/gobgp/src/index.ts';
import { nodeGobgpd, startGobgpd } from '../../../lib/gobgp/src/testing.ts';
import { median } from '../row.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { addressOf, prefixOf } from './pods.ts';
import { messagesOf, RawGobgp, rawPath } from './raw.ts';

const singles = 500;
const warming = 200;
const streams = 15;
const paths = 10_000;
const tag = '4294967295:4049000000:1';
/** One object, as the speaker has it for all paths of a class. */
const attributes = { nextHop: '0.0.0.0', largeCommunities: [tag] };

const path = (at: number): BgpPath => ({ prefix: prefixOf(at), attributes });

/** Milliseconds of both, measured in turn, so that other load of the machine affects both. */
async function inTurn(
  count: number,
  ours: (at: number) => Promise<unknown>,
  raw: (at: number) => Promise<unknown>,
): Promise<{ readonly ours: readonly number[]; readonly raw: readonly number[] }> {
  const times = { ours: [] as number[], raw: [] as number[] };
  for (let at = 0; at < count; at += 1) {
    const started = performance.now();
    await ours(at);
    const between = performance.now();
    await raw(at);
    times.ours.push(between - started);
    times.raw.push(performance.now() - between);
  }
  return times;
}

async function client(): Promise<BgpRow[]> {
  const gobgpd = await startGobgpd(nodeGobgpd());
  const [gobgp, raw] = [await openGobgp({ target: gobgpd.target }), new RawGobgp(gobgpd.target)];
  try {
    await gobgp.startBgp({ asn: 65001, routerId: '192.0.2.1', listenPort: -1 });
    const single = (count: number, from: number) =>
      inTurn(
        count,
        (at) => gobgp.addPaths([path(from + at)]),
        (at) => raw.addPath(rawPath(addressOf(from + at), tag)),
      );
    await single(warming, 0);
    const one = await single(singles, warming);
    const all = Array.from({ length: paths }, (_, at) => path(at));
    const messages = messagesOf(all.map((_, at) => rawPath(addressOf(at), tag)));
    const stream = (count: number) =>
      inTurn(
        count,
        () => gobgp.addPaths(all),
        () => raw.stream(messages),
      );
    await stream(2);
    const many = await stream(streams);
    return [
      {
        what: `One path through lib/gobgp, median of ${singles}`,
        unit: 'ms',
        ours: median(one.ours),
        target: { timesFloor: 1.5 },
        floor: median(one.raw),
        floorIs: 'AddPath by grpc-js, of the same bytes',
      },
      {
        what: `${paths.toLocaleString('en')} paths through lib/gobgp, median of ${streams}`,
        unit: 'ms',
        ours: median(many.ours),
        target: { timesFloor: 1.3 },
        floor: median(many.raw),
        floorIs: 'AddPathStream by grpc-js, of messages encoded before',
      },
    ];
  } finally {
    raw.close();
    gobgp.close();
    await gobgpd.stop();
  }
}

export const measurements: readonly Measurement[] = [{ name: 'client', measure: client }];
