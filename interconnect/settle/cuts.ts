/**
 * Finds gateways of this cluster that are cut off from each other although both are alive. Each then takes the other for
 * dead, and they take the ports from one another forever. Pure: the time is a parameter.
 *
 * A dead gateway must not look like that. Its daemon, or the database that its ovs-vswitchd left behind, still reports
 * the other one as before; and a gateway that returns hears no other at first. So two gateways are cut off when both
 * report that nothing passes between them while each hears a third one, for long enough to be sure. Where daemons
 * report nothing, a port that goes back and forth between two gateways shows it.
 */
import type { TunnelReport, GatewayReport } from '../model/tunnels.ts';
import { isTunnelDown } from '../../lib/api/kinds/interconnect-gateway.ts';

/** Two chassis in the order of their names. */
export type Pair = readonly [string, string];

/** Two gateways that do not hear each other: in one order, both would take the port. */
export interface Cut {
  readonly pair: Pair;
  /** When that was certain; undefined while it is not, and they are merely not brought together. */
  readonly sinceMs: number | undefined;
}

/** The memory of two gateways that do not hear each other. */
export interface PairMemory {
  readonly pair: Pair;
  /** When they were first seen to be apart. */
  readonly sinceMs: number;
  /** When that was certain; undefined before. */
  readonly cutSinceMs: number | undefined;
  /** Whether a daemon ever reported the cut; otherwise only the ports showed it. */
  readonly isReported: boolean;
  /** Since when both daemons report that they hear each other again. */
  readonly wellSinceMs: number | undefined;
  /** When ports last went back and forth between them. */
  readonly contestedMs: number | undefined;
}

export interface CutInput {
  readonly reports: readonly GatewayReport[];
  /** Pairs that take ports from one another now. */
  readonly contested: readonly Pair[];
  /** By `pairKey`. */
  readonly before: ReadonlyMap<string, PairMemory>;
  readonly nowMs: number;
}

export interface CutResult {
  readonly memories: ReadonlyMap<string, PairMemory>;
  /** When to settle again even without a change, in milliseconds of the same clock; Infinity for never. */
  readonly wakeMs: number;
}

/** For two gateways that have heard others all the time. */
const sureMs = 1000;
/**
 * For two gateways of which one began to hear others only after it lost the other: BFD between them may be about to
 * come up.
 */
const unsureMs = 5000;
/** How long both must hear each other before they may hold one port again: a flapping tunnel must not take ports. */
export const cutRestMs = 5000;
/** How long a port that went back and forth stays where it is, if no daemon reports anything. */
export const contestMs = 60_000;

export function settleCuts(input: CutInput): CutResult {
  const { reports, contested, before, nowMs } = input;
  const known = new Map(reports.map((report) => [report.chassis, report]));
  const pairs = new Map([...before.values()].map(({ pair }) => [pairKey(pair), pair]));
  for (const { chassis, siblings } of reports)
    for (const { chassis: other, state } of siblings)
      if (isTunnelDown(state) && known.has(other)) pairs.set(pairKey(pairOf(chassis, other)), pairOf(chassis, other));
  for (const pair of contested) pairs.set(pairKey(pair), pair);
  const contestedKeys = new Set(contested.map(pairKey));
  const memories = new Map<string, PairMemory>();
  const wakes: number[] = [];
  for (const [key, pair] of pairs) {
    const contact = contactOf(known.get(pair[0]), known.get(pair[1]));
    if (contact === 'gone') continue;
    const step = advance(pair, before.get(key), { contact, isContested: contestedKeys.has(key), nowMs });
    if (step === undefined) continue;
    memories.set(key, step.memory);
    wakes.push(step.wakeMs);
  }
  return { memories, wakeMs: Math.min(Infinity, ...wakes) };
}

/**
 * Whether a gateway hears no other, not counting `besides`, from which it is cut off anyway. False for a gateway that
 * has no other to hear.
 */
export function hearsNobody({ tunnels, siblings }: GatewayReport, besides: ReadonlySet<string>): boolean {
  const others = [...tunnels, ...siblings].filter(({ chassis }) => !besides.has(chassis));
  return others.length > 0 && others.every(({ state }) => isTunnelDown(state));
}

/** Chassis that are certainly cut off from another. */
export function cutOffBy(cuts: readonly Cut[]): ReadonlySet<string> {
  return new Set(cuts.flatMap(({ pair, sinceMs }) => (sinceMs === undefined ? [] : pair)));
}

export function pairOf(a: string, b: string): Pair {
  return a < b ? [a, b] : [b, a];
}

export function pairKey(pair: Pair): string {
  return pair.join(' ');
}

/** How often, and within which time, a port changes its holder when both claim it: no failover does that. */
const contestChanges = 4;
const contestWindowMs = 3000;

/** The holders of a port and when each took it; the oldest first. */
export type HolderHistory = readonly { readonly chassis: string; readonly ms: number }[];

/** The history with the present holder, without entries that are too old to matter. */
export function nextHistory(history: HolderHistory, holder: string, nowMs: number): HolderHistory {
  const isNews = holder !== '' && history.at(-1)?.chassis !== holder;
  const all = isNews ? [...history, { chassis: holder, ms: nowMs }] : history;
  const recent = all.filter(({ ms }) => nowMs - ms <= contestWindowMs);
  return recent.length > 0 ? recent : all.slice(-1);
}

/** The pairs of gateways that take the port from one another. */
export function contestants(history: HolderHistory): readonly Pair[] {
  if (history.length < contestChanges) return [];
  const chassis = [...new Set(history.map((one) => one.chassis))];
  return chassis.flatMap((a, index) => chassis.slice(index + 1).map((b) => pairOf(a, b)));
}

/** steady: both have heard others all the time. mute: one hears no other, as a dead one does. */
type Contact = 'apart' | 'apart-steady' | 'together' | 'mute' | 'unclear' | 'gone';

function contactOf(a: GatewayReport | undefined, b: GatewayReport | undefined): Contact {
  if (a === undefined || b === undefined) return 'gone';
  const [there, back] = [tunnelTo(a, b.chassis), tunnelTo(b, a.chassis)];
  if (there?.state === 'up' && back?.state === 'up') return 'together';
  if (hearsNobody(a, new Set([b.chassis])) || hearsNobody(b, new Set([a.chassis]))) return 'mute';
  if (there === undefined || back === undefined || !isTunnelDown(there.state) || !isTunnelDown(back.state))
    return 'unclear';
  // Where neither has another one to hear, one of them may be dead.
  if (!hearsSomebody(a) || !hearsSomebody(b)) return 'unclear';
  return isSteady(a, there) && isSteady(b, back) ? 'apart-steady' : 'apart';
}

function hearsSomebody({ tunnels, siblings }: GatewayReport): boolean {
  return [...tunnels, ...siblings].some(({ state }) => state === 'up');
}

function tunnelTo({ siblings }: GatewayReport, chassis: string): TunnelReport | undefined {
  return siblings.find((tunnel) => tunnel.chassis === chassis);
}

/** Whether a gateway has heard another one since before it lost this one. */
function isSteady({ tunnels, siblings }: GatewayReport, lost: TunnelReport): boolean {
  return [...tunnels, ...siblings].some(({ state, sinceMs }) => state === 'up' && sinceMs <= lost.sinceMs);
}

interface Observation {
  readonly contact: Contact;
  readonly isContested: boolean;
  readonly nowMs: number;
}

interface Step {
  readonly memory: PairMemory;
  /** Infinity for never. */
  readonly wakeMs: number;
}

function advance(pair: Pair, before: PairMemory | undefined, observation: Observation): Step | undefined {
  return before?.cutSinceMs === undefined ? suspect(pair, before, observation) : hold(before, observation);
}

/** Before it is certain. */
function suspect(
  pair: Pair,
  before: PairMemory | undefined,
  { contact, isContested, nowMs }: Observation,
): Step | undefined {
  const isReported = isApart(contact);
  if (!isReported && !(isContested && contact === 'unclear')) return undefined;
  const sinceMs = before?.sinceMs ?? nowMs;
  const certainMs = sinceMs + (contact === 'apart' ? unsureMs : sureMs);
  const isCertain = nowMs >= certainMs;
  const memory: PairMemory = {
    pair,
    sinceMs,
    cutSinceMs: isCertain ? nowMs : undefined,
    isReported,
    wellSinceMs: undefined,
    contestedMs: isReported ? undefined : nowMs,
  };
  return { memory, wakeMs: isCertain ? endOf(memory) : certainMs };
}

/** Once it is certain; undefined when it is over. */
function hold(before: PairMemory, { contact, isContested, nowMs }: Observation): Step | undefined {
  const memory: PairMemory = {
    ...before,
    isReported: before.isReported || isApart(contact),
    contestedMs: isContested ? nowMs : before.contestedMs,
    wellSinceMs: contact === 'together' ? (before.wellSinceMs ?? nowMs) : undefined,
  };
  const wakeMs = endOf(memory);
  return nowMs >= wakeMs ? undefined : { memory, wakeMs };
}

function isApart(contact: Contact): boolean {
  return contact === 'apart' || contact === 'apart-steady';
}

/** Infinity while no time is known. */
function endOf({ isReported, wellSinceMs, contestedMs }: PairMemory): number {
  if (wellSinceMs !== undefined) return wellSinceMs + cutRestMs;
  return isReported || contestedMs === undefined ? Infinity : contestedMs + contestMs;
}
