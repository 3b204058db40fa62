/** Sessions that fail: whether the BgpPeer's status says why, and how soon. */
import { setTimeout as pause } from 'node:timers/promises';
import type { BgpBed } from './bed.ts';
import { type Fault, faults } from './faults.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import type { Site } from './signs.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

/** A reason that is later is none. */
const patienceMs = 15_000;
/** A reason that is true is still there when both sides have tried again. */
const staysMs = 3000;
const lookMs = 10;

interface Outcome {
  readonly fault: Fault;
  readonly isTrue: boolean;
  /** From the fault until it shows, and until the status has the reason. */
  readonly shownAfter: number;
  readonly toldAfter: number;
  /** Values of the status since the fault. */
  readonly told: readonly string[];
}

async function untilEstablished(site: Site): Promise<void> {
  const isUp = async (): Promise<true | NotYet> => {
    const { state = '', reason = '' } = await site.bed.session(site.name);
    return state === 'Established' || notYet(`${state} ${reason}`);
  };
  await eventually(`the session of ${site.name}`, isUp, 30_000, 50);
}

/** All reasons one after the other, and when the wanted one came, by performance.now(). */
async function listen({ bed, name }: Site, { reason }: Fault): Promise<{ told: string[]; at: number | undefined }> {
  const told: string[] = [];
  const giveUpAt = performance.now() + patienceMs;
  for (let at: number | undefined, until = giveUpAt; performance.now() < until; await pause(lookMs)) {
    const said = (await bed.session(name)).reason ?? 'none';
    if (said !== told.at(-1)) told.push(said);
    if (said !== reason || at !== undefined) continue;
    at = performance.now();
    return { told, at };
  }
  return { told, at: undefined };
}

/** When it shows, by performance.now(). */
async function untilShown(isShown: () => Promise<boolean>): Promise<number> {
  for (const giveUpAt = performance.now() + patienceMs; performance.now() < giveUpAt; await pause(lookMs))
    if (await isShown()) return performance.now();
  throw new Error('nobody noticed the fault');
}

async function outcomeOf(site: Site, fault: Fault): Promise<Outcome> {
  const { reason, isShort = false, cause, refusal, end } = fault;
  const isShown = await (refusal ?? end)?.(site);
  const causedAt = performance.now();
  const since = (at: number): number => (at - causedAt) / 1000;
  const [shownAt, { told, at }] = await Promise.all([
    isShown ? untilShown(isShown) : causedAt,
    listen(site, fault),
    cause(site),
  ]);
  const found = { fault, told, shownAfter: since(shownAt) };
  if (at === undefined) return { ...found, isTrue: false, toldAfter: since(performance.now()) };
  await pause(staysMs);
  const later = (await site.bed.session(site.name)).reason ?? 'none';
  if (!isShort && later !== reason) told.push(later);
  return { ...found, isTrue: isShort || later === reason, toldAfter: since(at) };
}

/** The BgpPeer is recreated for each fault. */
async function suffer(site: Site, fault: Fault): Promise<Outcome> {
  const { bed, router, name } = site;
  await fault.prepare?.(site);
  await bed.addPeer(router.link.v4, name, router.asn, { holdTimeSeconds: 9, keepaliveSeconds: 3, ...fault.spec });
  try {
    await untilEstablished(site);
    return await outcomeOf(site, fault);
  } finally {
    await fault.undo?.(site);
    await bed.removePeer(name);
  }
}

async function reasons(bed: BgpBed): Promise<BgpRow[]> {
  await bed.lab.add({ kind: 'frr', name: 'failing', asn: 65_150, hasBfd: true });
  await bed.lab.add({ kind: 'frr', name: 'internal', asn: 65_001, nodeAsn: 65_001 });
  const outcomes: Outcome[] = [];
  for (const fault of faults) {
    const name = fault.isInternal ? 'internal' : 'failing';
    const outcome = await suffer({ bed, router: bed.lab.frr(name), name }, fault);
    const { told, shownAfter, toldAfter } = outcome;
    console.log(`           ${fault.what}: ${told.join(', ')}; ${shownAfter.toFixed(2)} s, ${toldAfter.toFixed(2)} s`);
    outcomes.push(outcome);
  }
  return rowsOf(outcomes);
}

function worstOf(outcomes: readonly Outcome[], seconds: (outcome: Outcome) => number): Outcome {
  const [worst] = outcomes.toSorted((a, b) => seconds(b) - seconds(a));
  if (worst === undefined) throw new Error('there is no such fault');
  return worst;
}

function rowsOf(outcomes: readonly Outcome[]): BgpRow[] {
  const wrong = outcomes.filter(({ isTrue }) => !isTrue);
  const delay = ({ shownAfter, toldAfter }: Outcome): number => toldAfter - shownAfter;
  const slowest = worstOf(outcomes, delay);
  const dialled = worstOf(
    outcomes.filter(({ fault }) => fault.refusal),
    ({ toldAfter }) => toldAfter,
  );
  const title = `A session fails in each of ${outcomes.length} ways`;
  return [
    {
      what: [
        `${title}: the status of the BgpPeer has not the true reason`,
        ...wrong.map(({ fault, told }) => `${fault.what}: ${told.join(', ')}`),
      ].join('; '),
      unit: 'faults',
      ours: wrong.length,
      target: 0,
      floor: 0,
      floorIs: 'none',
    },
    {
      what: `${title}: from when it shows until the status says so, at worst (${slowest.fault.what})`,
      unit: 's',
      ours: Math.max(0, delay(slowest)),
      target: 2,
      floor: 0,
      floorIs: 'none',
    },
    {
      what: `${title}: from a change of configuration until the status says so, at worst (${dialled.fault.what})`,
      unit: 's',
      ours: dialled.toldAfter,
      target: undefined,
      floor: dialled.shownAfter,
      floorIs: 'until one of the two dials again and is refused',
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'reasons', measure: reasons }];
