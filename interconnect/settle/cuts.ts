/**
 * Which gateways of this cluster are cut off from each other though both live: each then takes the other for dead, and they
 * take the ports from one another for ever. Pure: the time comes by parameter.
 *
 * A dead gateway must not look like that. Its daemon, or what its ovs-vswitchd left in the database, still says of the other
 * what it said before; and one that returns hears nobody at first. So two are cut off when both say that nothing passes
 * between them while each hears somebody else, for as long as it takes to be sure. Where daemons say nothing, a port
 * that goes back and forth between two says it.
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

/** What is remembered of two gateways that do not hear each other. */
export interface PairMemory {
  readonly pair: Pair;
  /** When they were first seen to be apart. */
  readonly sinceMs: number;
  /** When that was certain; undefined before. */
  readonly cutSinceMs: number | undefined;
  /** Whether daemons ever said so; else only the ports did. */
  readonly isReported: boolean;
  /** Since when both say that all is well again. */
  readonly wellSinceMs: number | undefined;
  /** When ports last went back and forth between them. */
  readonly contestedMs: number | undefined;
}

export interface CutQuestion {
  readonly reports: readonly GatewayReport[];
  /** Pairs that take ports from one another now. */
  readonly contested: readonly Pair[];
  /** By `pairKey`. */
  readonly before: ReadonlyMap<string, PairMemory>;
  readonly nowMs: number;
}

export interface CutAnswer {
  readonly memories: ReadonlyMap<string, PairMemory>;
  /** When to ask again though nothing happened, in milliseconds of the same clock; Infinity for never. */
  readonly wakeMs: number;
}

/** Two that have heard others all the time. */
const sureMs = 1000;
/** Two of which one has begun to hear others only after it lost the other: BFD with that one may be on its way. */
const unsureMs = 5000;
/** How long both must hear each other until they may hold one port again: what flaps must not take ports. */
export const cutRestMs = 5000;
/** How long a port that went back and forth stays where it is, where no daemon says anything. */
export const contestMs = 60_000;

export function settleCuts(question: CutQuestion): CutAnswer {
  const { reports, contested, before, nowMs } = question;
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
    const word = wordOf(known.get(pair[0]), known.get(pair[1]));
    if (word === 'gone') continue;
    const step = advance(pair, before.get(key), { word, isContested: contestedKeys.has(key), nowMs });
    if (step === undefined) continue;
    memories.set(key, step.memory);
    wakes.push(step.wakeMs);
  }
  return { memories, wakeMs: Math.min(Infinity, ...wakes) };
}

/**
 * Whether a gateway says that it hears nobody but those given, from which it is cut off anyhow. One that has nobody else to
 * hear does not say so.
 */
export function isDeaf({ tunnels, siblings }: GatewayReport, besides: ReadonlySet<string>): boolean {
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

/** How often, and within what time, a port goes from one to another where both claim it: no failover does that. */
const contestChanges = 4;
const contestWindowMs = 3000;

/** Who took a port, and when; the oldest first. */
export type HolderHistory = readonly { readonly chassis: string; readonly ms: number }[];

/** The history with the present holder in it, without what is too old to matter. */
export function nextHistory(history: HolderHistory, holder: string, nowMs: number): HolderHistory {
  const isNews = holder !== '' && history.at(-1)?.chassis !== holder;
  const all = isNews ? [...history, { chassis: holder, ms: nowMs }] : history;
  const recent = all.filter(({ ms }) => nowMs - ms <= contestWindowMs);
  return recent.length > 0 ? recent : all.slice(-1);
}

/** Who takes the port from whom. */
export function contestants(history: HolderHistory): readonly Pair[] {
  if (history.length < contestChanges) return [];
  const chassis = [...new Set(history.map((one) => one.chassis))];
  return chassis.flatMap((a, index) => chassis.slice(index + 1).map((b) => pairOf(a, b)));
}

/** steady: both have heard others all the time. mute: one hears nobody, as a dead one does. */
type Word = 'apart' | 'apart-steady' | 'together' | 'mute' | 'unclear' | 'gone';

function wordOf(a: GatewayReport | undefined, b: GatewayReport | undefined): Word {
  if (a === undefined || b === undefined) return 'gone';
  const [there, back] = [tunnelTo(a, b.chassis), tunnelTo(b, a.chassis)];
  if (there?.state === 'up' && back?.state === 'up') return 'together';
  if (isDeaf(a, new Set([b.chassis])) || isDeaf(b, new Set([a.chassis]))) return 'mute';
  if (there === undefined || back === undefined || !isTunnelDown(there.state) || !isTunnelDown(back.state))
    return 'unclear';
  // Where neither has anybody else to hear, one of them may as well be dead.
  if (!hearsSomebody(a) || !hearsSomebody(b)) return 'unclear';
  return isSteady(a, there) && isSteady(b, back) ? 'apart-steady' : 'apart';
}

function hearsSomebody({ tunnels, siblings }: GatewayReport): boolean {
  return [...tunnels, ...siblings].some(({ state }) => state === 'up');
}

function tunnelTo({ siblings }: GatewayReport, chassis: string): TunnelReport | undefined {
  return siblings.find((tunnel) => tunnel.chassis === chassis);
}

/** Whether a gateway has heard somebody since before it lost the other. */
function isSteady({ tunnels, siblings }: GatewayReport, lost: TunnelReport): boolean {
  return [...tunnels, ...siblings].some(({ state, sinceMs }) => state === 'up' && sinceMs <= lost.sinceMs);
}

interface Look {
  readonly word: Word;
  readonly isContested: boolean;
  readonly nowMs: number;
}

interface Step {
  readonly memory: PairMemory;
  /** Infinity for never. */
  readonly wakeMs: number;
}

function advance(pair: Pair, before: PairMemory | undefined, look: Look): Step | undefined {
  return before?.cutSinceMs === undefined ? suspect(pair, before, look) : hold(before, look);
}

/** Before it is certain. */
function suspect(pair: Pair, before: PairMemory | undefined, { word, isContested, nowMs }: Look): Step | undefined {
  const isReported = isApart(word);
  if (!isReported && !(isContested && word === 'unclear')) return undefined;
  const sinceMs = before?.sinceMs ?? nowMs;
  const certainMs = sinceMs + (word === 'apart' ? unsureMs : sureMs);
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
function hold(before: PairMemory, { word, isContested, nowMs }: Look): Step | undefined {
  const memory: PairMemory = {
    ...before,
    isReported: before.isReported || isApart(word),
    contestedMs: isContested ? nowMs : before.contestedMs,
    wellSinceMs: word === 'together' ? (before.wellSinceMs ?? nowMs) : undefined,
  };
  const wakeMs = endOf(memory);
  return nowMs >= wakeMs ? undefined : { memory, wakeMs };
}

function isApart(word: Word): boolean {
  return word === 'apart' || word === 'apart-steady';
}

/** Infinity while nothing says when. */
function endOf({ isReported, wellSinceMs, contestedMs }: PairMemory): number {
  if (wellSinceMs !== undefined) return wellSinceMs + cutRestMs;
  return isReported || contestedMs === undefined ? Infinity : contestedMs + contestMs;
}
