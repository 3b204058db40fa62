/** Changes to all routes of a session or to a few: a reset by the neighbour, another attribute. */
import { setTimeout as pause } from 'node:timers/promises';
import { apiVersionOf, bgpAdvertisements } from '../../../lib/kube/resources.ts';
import type { BgpBed } from './bed.ts';
import { rawStream } from './bulk.bench.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { CountingNeighbor } from './counting-neighbor.ts';
import { groups } from './pods.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

const everything = ['hundred', 'thousand', 'rest'] as const;

async function reset(bed: BgpBed): Promise<BgpRow[]> {
  await bed.announce([]);
  const floor = await rawStream(bed, 10_000);
  const count = await bed.announce(everything);
  const { established } = await bed.tor.counters();
  const started = performance.now();
  await bed.tor.peer.reset();
  const isAnew = async (): Promise<true | NotYet> => {
    const now = await bed.tor.counters();
    return now.established > established || notYet(now.state);
  };
  await eventually('a new session', isAnew, 60_000, 5);
  const session = performance.now();
  const back = await bed.tor.untilCount(count);
  return [
    {
      what: `The router resets the session, ${count.toLocaleString('en')} routes: all back (session after ${((session - started) / 1000).toFixed(1)} s)`,
      unit: 's',
      ours: (back - started) / 1000,
      target: 2.5,
      floor: floor / 1000,
      floorIs: 'a raw stream of as many paths, until all are in FRR',
    },
  ];
}

/** The first hundred by an advertisement of their own, all others by the one of the bed. */
async function attribute(bed: BgpBed): Promise<BgpRow[]> {
  const listener = await CountingNeighbor.open(bed.lab.node);
  const few = groups.hundred;
  const apply = (community: string): Promise<unknown> =>
    bed.kube.patch(bgpAdvertisements, { name: 'few' }, 'apply', {
      apiVersion: apiVersionOf(bgpAdvertisements),
      kind: 'BgpAdvertisement',
      metadata: { name: 'few' },
      spec: {
        source: 'Pod',
        selector: { matchLabels: { 'bench/group': 'hundred' } },
        attributes: { communities: { standard: [community] } },
      },
    });
  try {
    await bed.ensurePods();
    await bed.ask(['thousand', 'rest']);
    await apply('65001:1');
    const count = await bed.tor.untilCount(bed.announced + few).then(() => bed.announced + few);
    await bed.addPeer(listener.address, 'listener', listener.asn);
    const told = async (): Promise<true | NotYet> => {
      const { announced } = await listener.heard();
      return announced >= count || notYet(String(announced));
    };
    await eventually(`${count} prefixes to be heard`, told, 60_000, 100);
    await pause(1000);
    const [before, counters] = [await listener.heard(), await bed.tor.counters()];
    await apply('65001:2');
    await pause(3000);
    const [after, countersAfter] = [await listener.heard(), await bed.tor.counters()];
    const title = `An attribute changed of ${few} of ${count.toLocaleString('en')} routes`;
    return [
      {
        what: `${title}: prefixes announced or withdrawn to a neighbour that counts`,
        unit: 'prefixes',
        ours: after.announced + after.withdrawn - before.announced - before.withdrawn,
        target: few,
        floor: few,
        floorIs: 'the routes it is about',
      },
      {
        what: `${title}: sessions lost`,
        unit: 'resets',
        ours: after.sessions - before.sessions + countersAfter.dropped - counters.dropped,
        target: 0,
        floor: 0,
        floorIs: 'none',
      },
    ];
  } finally {
    await bed.kube.delete(bgpAdvertisements, { name: 'few' });
    await bed.removePeer('listener');
    await listener.close();
    await bed.announce([]);
  }
}

export const measurements: readonly Measurement[] = [
  { name: 'reset', measure: reset },
  { name: 'attribute', measure: attribute },
];
