/** Effects of misbehaving neighbours on a node: more routes than its limit, malformed messages, silence. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Random, pick, randomOf } from '../../../lib/testing-random.ts';
import { message, messageType, type RawHost, update } from '../../system/bgp/raw-peer.ts';
import { memoryMb } from '../processes.ts';
import type { BgpBed } from './bed.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

const allowedMb = 32;
const offeredRoutes = 100_000;
const badHosts = 10;
const messagesOfEach = 20;
const seed = 5;
/** Time until heaps are collected. */
const settleMs = 5000;

/** Peak memory growth of speaker and gobgpd, in MB, and the sessions that the router lost meanwhile. */
async function growth(
  bed: BgpBed,
  work: () => Promise<void>,
): Promise<{ readonly mb: number[]; readonly lost: number }> {
  const pids = [bed.speaker.pid, bed.gobgpd.pid];
  await pause(settleMs);
  const before = pids.map((pid) => memoryMb(pid));
  const highest = [...before];
  const { dropped } = await bed.tor.counters();
  const look = setInterval(() => {
    for (const [at, pid] of pids.entries()) highest[at] = Math.max(highest[at] ?? 0, memoryMb(pid));
  }, 50);
  try {
    await work();
    await pause(settleMs);
  } finally {
    clearInterval(look);
  }
  return {
    mb: highest.map((value, at) => value - (before[at] ?? 0)),
    lost: (await bed.tor.counters()).dropped - dropped,
  };
}

function rowsOf(title: string, { mb, lost }: { readonly mb: readonly number[]; readonly lost: number }): BgpRow[] {
  const floor = { floor: 0, floorIs: 'none' };
  return [
    ...['speaker', 'gobgpd'].map((name, at): BgpRow => ({
      what: `${title}: memory of ${name} above what it was, at worst`,
      unit: 'MB',
      ours: Math.max(0, mb[at] ?? 0),
      target: allowedMb,
      ...floor,
    })),
    { what: `${title}: sessions of others lost`, unit: 'resets', ours: lost, target: 0, ...floor },
  ];
}

async function reasonOf(bed: BgpBed, name: string): Promise<string> {
  const { reason, state = '' } = await bed.session(name);
  return reason ?? state;
}

/** A router with a table like the Internet's, and a limit on its session or on the routes used from it. */
async function offered(bed: BgpBed): Promise<BgpRow[]> {
  await bed.announce([]);
  const announces = Array.from(
    { length: offeredRoutes },
    (_, at) => `${20 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}.0/24`,
  );
  await bed.lab.add({ kind: 'bird', name: 'offering', asn: 65_120, holdSeconds: 90, announces });
  const { link, asn } = bed.lab.bird('offering');
  const rows: BgpRow[] = [];
  const limits = {
    'no limit, none of them wanted': { spec: {}, until: 'Established' },
    'maximumPrefixes 1,000': { spec: { maximumPrefixes: { limit: 1000 } }, until: 'PrefixLimit' },
    'import, maximumPrefixes 10,000': {
      spec: { import: { maxPrefixes: 1000 }, maximumPrefixes: { limit: 10_000 } },
      until: 'PrefixLimit',
    },
    'import.maxPrefixes 1,000': { spec: { import: { maxPrefixes: 1000 } }, until: 'PrefixLimit' },
  };
  for (const [limit, { spec, until }] of Object.entries(limits)) {
    const found = await growth(bed, async () => {
      await bed.addPeer(link.v4, 'offering', asn, spec);
      const isThere = async (): Promise<true | NotYet> => {
        const reason = await reasonOf(bed, 'offering');
        return reason === until || notYet(reason);
      };
      await eventually(`the session to be ${until}`, isThere, 60_000, 50);
    });
    rows.push(...rowsOf(`${offeredRoutes.toLocaleString('en')} routes offered under ${limit}`, found));
    await bed.removePeer('offering');
    await pause(settleMs);
  }
  return rows;
}

const origin = [0x40, 1, 1, 0];
const asPath = [0x40, 2, 6, 2, 1, 0, 0, 0xfd, 0xe9];
const nextHop = [0x40, 3, 4, 172, 31, 2, 201];
const others = [
  [0x80, 4, 4, 0, 0, 0, 5],
  [0xc0, 8, 4, 0xfd, 0xe9, 0, 1],
  [0xc0, 32, 12, 0, 0, 0xfd, 0xe9, 0, 0, 0, 1, 0, 0, 0, 2],
  [0xc0, 16, 8, 0, 2, 0xfd, 0xe9, 0, 0, 0, 1],
  [0x80, 14, 21, 0, 2, 1, 16, ...Array.from({ length: 16 }, () => 0xfd), 0],
];

/** A message of RFC 4271 with one to three bytes changed, a truncated one, or one with a wrong length. */
function mutant(random: Random): Buffer {
  const whole = pick(random, [
    () => update([...origin, ...asPath, ...nextHop, ...pick(random, others)], [24, 198, 51, 100]),
    () => update([...pick(random, others), ...pick(random, others)], [8, 20]),
    () => message(messageType.keepalive),
    () => message(5, [0, 1, 0, 1]),
    () =>
      message(
        1 + random(9),
        Array.from({ length: random(40) }, () => random(256)),
      ),
  ])();
  const bytes = Buffer.from(whole);
  if (random(4) === 0) return bytes.subarray(0, 19 + random(Math.max(1, bytes.length - 19)));
  for (let change = 0; change <= random(3); change += 1) bytes[16 + random(bytes.length - 16)] = random(256);
  return bytes;
}

async function speakNonsense(host: RawHost, random: Random): Promise<void> {
  let session = await host.establish();
  for (let sent = 0; sent < messagesOfEach; sent += 1) {
    session.send(mutant(random));
    await pause(100);
    if (session.notification === undefined) continue;
    session.close();
    session = await host.establish();
  }
  session.close();
}

async function malformed(bed: BgpBed): Promise<BgpRow[]> {
  // The initial advertisements of a session are not measured.
  await bed.announce([]);
  const names = Array.from({ length: badHosts }, (_, at) => `bad${at}`);
  for (const [at, name] of names.entries()) {
    const asn = 65_130 + at;
    await bed.lab.add({ kind: 'raw', name, asn });
    await bed.addPeer(bed.lab.raw(name).link.v4, name, asn, { passive: true });
  }
  const { pid } = bed.gobgpd;
  const found = await growth(bed, async () => {
    await Promise.all(names.map((name, at) => speakNonsense(bed.lab.raw(name), randomOf(seed + at))));
  });
  if (bed.gobgpd.pid !== pid) throw new Error('gobgpd ended');
  await Promise.all(names.map((name) => bed.removePeer(name)));
  return rowsOf(`${badHosts * messagesOfEach} malformed messages of ${badHosts} neighbours`, found);
}

export const measurements: readonly Measurement[] = [
  { name: 'offered', measure: offered },
  { name: 'malformed', measure: malformed },
];
