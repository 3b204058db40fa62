/** Effects on the routers when the speaker or gobgpd is killed and restarts. */
import { setTimeout as pause } from 'node:timers/promises';
import { bgpInstances } from '../../../lib/kube/resources.ts';
import type { BgpBed } from './bed.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { type Group, prefixOf, firstSingle } from './pods.ts';
import { KernelCount } from './tor.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

/** Longer than it takes until a session is up again and both sides have sent all routes. */
const afterMs = 8000;
/** An unused address of the second router's link. */
const nobody = '172.31.2.77';
const everything = ['hundred', 'thousand', 'rest'] as const;

async function speakerKilled(bed: BgpBed): Promise<BgpRow[]> {
  const pod = 500;
  await bed.createSingles(pod, pod + 1);
  const count = await bed.announce(everything);
  const before = await bed.tor.counters();
  await bed.speaker.end();
  await bed.addPod(pod);
  const started = performance.now();
  await bed.startSpeaker();
  const works = await bed.tor.until(prefixOf(firstSingle + pod));
  await pause(afterMs / 2);
  const after = await bed.tor.counters();
  await bed.removePod(pod);
  await bed.tor.untilCount(count);
  const title = `Speaker killed and started again, ${count.toLocaleString('en')} routes`;
  const floorIs = 'none';
  return [
    {
      what: `${title}: UPDATEs at FRR, but for the one of a pod that became ready meanwhile`,
      unit: 'UPDATEs',
      ours: after.updates - before.updates - 1,
      target: 0,
      floor: 0,
      floorIs,
    },
    {
      what: `${title}: sessions lost`,
      unit: 'flaps',
      ours: after.dropped - before.dropped,
      target: 0,
      floor: 0,
      floorIs,
    },
    {
      what: `${title}: from the start of its process until that pod's route is there`,
      unit: 's',
      ours: (works - started) / 1000,
      target: 3,
      floor: (await bed.nodeStartMs()) / 1000,
      floorIs: 'Node.js starts, reads the pods and does nothing',
    },
  ];
}

interface Watched {
  readonly name: string;
  readonly pid: number;
}

/** Peak number of routes missing in a router's kernel while gobgpd is killed and restarts. */
async function missing(bed: BgpBed, { name, pid }: Watched, count: number, base: number): Promise<BgpRow> {
  const fib = new KernelCount(pid);
  await eventually(
    `${count} routes in the kernel of ${name}`,
    () => fib.now() - base === count || notYet(`${fib.now() - base}`),
  );
  // End-of-RIB goes both ways before a neighbour would keep routes.
  await pause(afterMs / 2);
  fib.start();
  await pause(200);
  await bed.restartGobgpd();
  await pause(afterMs);
  const { fewest, longestMs } = await fib.stop();
  return {
    what: `gobgpd killed, ${count.toLocaleString('en')} routes: missing in the kernel of ${name} at worst (looked at every 3 ms, ${Math.round(longestMs)} ms at most)`,
    unit: 'routes',
    ours: count - (fewest - base),
    target: 0,
    floor: 0,
    floorIs: 'none',
  };
}

async function gobgpdKilled(bed: BgpBed): Promise<BgpRow[]> {
  const rows: BgpRow[] = [];
  const sizes: readonly (readonly Group[])[] = [['hundred', 'thousand'], everything];
  // The routes of the router's own addresses, without BGP routes.
  await bed.announce([]);
  // bgpd is ahead of the kernel.
  await pause(1000);
  const frr = { name: 'FRR', pid: bed.tor.peer.daemon.pid };
  const base = new KernelCount(frr.pid).now() - 1;
  for (const size of sizes) rows.push(await missing(bed, frr, await bed.announce(size), base));
  return rows;
}

async function gobgpdKilledBird(bed: BgpBed): Promise<BgpRow[]> {
  const rows: BgpRow[] = [];
  const { daemon, link, asn } = bed.lab.bird('bird');
  const base = new KernelCount(daemon.pid).now();
  await bed.addPeer(link.v4, 'bird', asn);
  try {
    for (const size of [['hundred', 'thousand'], everything] as const) {
      const count = await bed.announce(size);
      rows.push(await missing(bed, { name: 'BIRD', pid: daemon.pid }, count, base));
    }
    return rows;
  } finally {
    await bed.removePeer('bird');
  }
}

/** Seconds after gobgpd's start. */
interface Returned {
  readonly session: number;
  readonly route: number;
}

/** Time from gobgpd's start until a live neighbour has a new route, while another neighbour does not answer. */
async function deadPeer(bed: BgpBed): Promise<BgpRow[]> {
  const pod = 501;
  const [living, dying] = bed.tors;
  const rows: BgpRow[] = [];
  await bed.createSingles(pod, pod + 1);
  await bed.announce(['hundred', 'thousand']);
  const once = async (): Promise<Returned> => {
    await bed.gobgpd.kill();
    await bed.addPod(pod);
    await pause(1000);
    const started = performance.now();
    await bed.gobgpd.restart();
    const session = (await living.untilEstablished()) - started;
    const route = (await living.until(prefixOf(firstSingle + pod))) - started;
    await bed.removePod(pod);
    await living.until(prefixOf(firstSingle + pod), false);
    return { session: session / 1000, route: route / 1000 };
  };
  for (const enabled of [true, false]) {
    const gracefulRestart = { enabled, restartTimeSeconds: 120 };
    await bed.kube.patch(bgpInstances, { name: 'rack' }, 'merge', { spec: { gracefulRestart } });
    await pause(3000);
    await living.untilEstablished();
    const floor = await once();
    const row = (how: string, { session, route }: Returned): BgpRow => ({
      what: `gobgpd killed, another peer ${how}, graceful restart ${enabled ? 'on' : 'off'}: first new route, from the start of gobgpd (session after ${session.toFixed(1)} s)`,
      unit: 's',
      ours: route,
      target: 2,
      floor: floor.route,
      floorIs: `the same without another peer (session after ${floor.session.toFixed(1)} s)`,
    });
    await bed.addPeer(nobody, 'nobody', 65_102);
    await pause(500);
    rows.push(row('never answered', await once()));
    await bed.removePeer('nobody');
    await bed.addPeer(dying.address, 'tor2', 65_102);
    await dying.untilEstablished();
    await pause(2000);
    dying.peer.daemon.freeze();
    try {
      rows.push(row('died with it', await once()));
    } finally {
      dying.peer.daemon.resume();
    }
    await bed.removePeer('tor2');
  }
  const gracefulRestart = { enabled: true, restartTimeSeconds: 120 };
  await bed.kube.patch(bgpInstances, { name: 'rack' }, 'merge', { spec: { gracefulRestart } });
  await pause(3000);
  await living.untilEstablished();
  return rows;
}

export const measurements: readonly Measurement[] = [
  { name: 'speaker-killed', measure: speakerKilled },
  { name: 'gobgpd-killed', measure: gobgpdKilled },
  { name: 'gobgpd-killed-bird', measure: gobgpdKilledBird },
  { name: 'dead-peer', measure: deadPeer },
];
