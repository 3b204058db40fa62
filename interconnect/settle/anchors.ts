/**
 * Which gateway anchors which path of a network, and how an anchor moves without losing a packet. Pure: the time comes
 * by parameter.
 *
 * OVN moves a port to the first gateway of its order that is alive, and back as soon as an earlier one returns. So the
 * order changes only while nothing depends on it: the path drains (the hub informs the others, which remove it from their
 * routes as this side does), then its order changes, then its new anchor takes the port, then the path is used again.
 * One path of a network moves at a time, and never without the hub, because the others could not be informed.
 */
import type { AnchorPhase } from '../model/networks.ts';
import type { Cut } from './cuts.ts';
import { reachableOrder } from './reachable-order.ts';

/** A gateway that may be an anchor. */
export interface AnchorGateway {
  readonly chassis: string;
  /** Selected, known, not drained, not dead. */
  readonly isEligible: boolean;
  /**
   * The southbound database has no chassis of this name, or it died while cut off: it holds nothing that could be taken
   * from it.
   */
  readonly isGone: boolean;
}

/** Where a path stands between two steps. */
export interface AnchorMemory {
  readonly order: readonly string[];
  readonly phase: AnchorPhase;
  /** When the phase began; a path that was settled at the start has been so for ever. */
  readonly sinceMs: number;
  /** Since when another gateway has had the anchor's port, or since when the anchor was to take it over. */
  readonly awaySinceMs: number | undefined;
  /** When the hub was first known to have informed the others that the path drains. */
  readonly announcedSinceMs: number | undefined;
}

export interface AnchorPath {
  readonly index: number;
  readonly memory: AnchorMemory | undefined;
  /** Order in the database; used where there is no memory. */
  readonly present: readonly string[];
  readonly holder: string;
  readonly isRetiring: boolean;
  /** The hub has informed the others that this path drains. */
  readonly isDrainAnnounced: boolean;
}

export interface AnchorInput {
  readonly paths: readonly AnchorPath[];
  /** Every gateway that may hold a port, in their own order. */
  readonly gateways: readonly AnchorGateway[];
  readonly cuts: readonly Cut[];
  readonly isHubConnected: boolean;
  /** Databases and northd of this cluster apply writes, so a gateway without its port is the cause itself. */
  readonly isFollowed: boolean;
  readonly nowMs: number;
  /** The hold-down of the other clusters for a path that came back. */
  readonly holdDownMs: number;
}

export interface AnchorResult {
  readonly memories: ReadonlyMap<number, AnchorMemory>;
  /** When to settle again even without a change, in milliseconds of the same clock. */
  readonly wakeMs: number | undefined;
  /** Paths that should move and cannot, with the reason as a sentence. */
  readonly blocked: ReadonlyMap<number, string>;
}

/** An anchor without its port for so long is replaced. */
export const deadAfterMs = 10_000;
/** Time after the others are informed until their datapaths are assumed to follow. */
export const drainMs = 1500;
/** Until BFD between chassis that begin to watch each other is up, with time to spare. */
const bfdMs = 3000;
/** Beyond the hold-down, until the next path of the network may move. */
const settleMs = 1000;

export function settleAnchors(input: AnchorInput): AnchorResult {
  const targets = assignAnchors(
    input.paths
      .filter(({ isRetiring }) => !isRetiring)
      .map((path) => ({ index: path.index, anchor: isUnclaimed(path, input) ? undefined : orderOf(path)[0] })),
    input.gateways.filter(({ isEligible }) => isEligible).map(({ chassis }) => chassis),
  );
  const memories = new Map<number, AnchorMemory>();
  const blocked = new Map<number, string>();
  const wakes: number[] = [];
  const whole = new Map<number, readonly string[]>();
  for (const path of input.paths) {
    const members = membersIn(orderOf(path), input, targets.get(path.index));
    whole.set(path.index, members);
    const { order, wakeMs } = reachableOrder(members, orderAndHolder(path), input);
    if (wakeMs !== undefined) wakes.push(wakeMs);
    const current = away(
      path,
      { ...remembered(path, input), order: isHeldBack(path, order, input) ? order.slice(0, 1) : order },
      input,
    );
    if (current.awaySinceMs !== undefined) wakes.push(current.awaySinceMs + deadAfterMs);
    memories.set(path.index, current);
  }
  for (const path of input.paths) {
    const before = memories.get(path.index) as AnchorMemory;
    const members = whole.get(path.index) ?? before.order;
    const step = advance(path, before, { input, memories, members, target: targets.get(path.index) ?? members[0] });
    memories.set(path.index, step.memory);
    if (step.blocked !== undefined) blocked.set(path.index, step.blocked);
    if (step.wakeMs !== undefined) wakes.push(step.wakeMs);
  }
  const later = wakes.filter((wakeMs) => wakeMs > input.nowMs);
  return { memories, blocked, wakeMs: later.length === 0 ? undefined : Math.min(...later) };
}

/**
 * The anchor of each path: the present one, as long as it is eligible and no other path of the network needs it more;
 * else the gateway that anchors the fewest. Paths are in the order of their indexes.
 */
export function assignAnchors(
  paths: readonly { readonly index: number; readonly anchor: string | undefined }[],
  eligible: readonly string[],
): ReadonlyMap<number, string> {
  const most = Math.ceil(paths.length / Math.max(eligible.length, 1));
  const load = new Map(eligible.map((chassis) => [chassis, 0]));
  const targets = new Map<number, string>();
  const take = (index: number, chassis: string): void => {
    load.set(chassis, (load.get(chassis) ?? 0) + 1);
    targets.set(index, chassis);
  };
  for (const { index, anchor } of paths)
    if (anchor !== undefined && (load.get(anchor) ?? Infinity) < most) take(index, anchor);
  for (const { index } of paths) {
    if (targets.has(index)) continue;
    const least = [...load].reduce<[string, number] | undefined>(
      (a, b) => (a === undefined || b[1] < a[1] ? b : a),
      undefined,
    );
    if (least !== undefined) take(index, least[0]);
  }
  return targets;
}

function orderOf({ memory, present }: AnchorPath): readonly string[] {
  return memory?.order ?? present;
}

function orderAndHolder(path: AnchorPath): { readonly order: readonly string[]; readonly holder: string } {
  return { order: orderOf(path), holder: path.holder };
}

function remembered({ memory, present }: AnchorPath, { nowMs }: AnchorInput): AnchorMemory {
  if (memory !== undefined) return memory;
  // A new port needs no hold-down either, but its chassis takes a moment to claim it.
  const sinceMs = present.length > 0 ? -Infinity : nowMs;
  return { order: present, phase: 'settled', sinceMs, awaySinceMs: undefined, announcedSinceMs: undefined };
}

/**
 * The order without gateways that left and with new ones at its end; a new order begins with its target. A gateway
 * whose chassis is gone goes to the end: by this very order, the next gateway has the port already, on both sides.
 */
function membersIn(order: readonly string[], { gateways }: AnchorInput, target: string | undefined): readonly string[] {
  const members = new Set(gateways.map(({ chassis }) => chassis));
  const gone = new Set(gateways.filter(({ isGone }) => isGone).map(({ chassis }) => chassis));
  const kept = order.filter((chassis) => members.has(chassis) && !gone.has(chassis));
  const at = Math.max(
    0,
    gateways.findIndex(({ chassis }) => chassis === (kept[0] ?? target)),
  );
  // Each path's backups begin after its anchor, so that two anchors' loss does not fall on one gateway.
  const cycle = [...gateways.slice(at), ...gateways.slice(0, at)].map(({ chassis }) => chassis);
  const others = cycle.filter((chassis) => !kept.includes(chassis));
  const whole = [
    ...kept,
    ...others.filter((chassis) => !gone.has(chassis)),
    ...others.filter((chassis) => gone.has(chassis)),
  ];
  return kept.length === 0 && target !== undefined ? moved(whole, target) : whole;
}

function reachable(members: readonly string[], path: AnchorPath, input: AnchorInput): readonly string[] {
  return reachableOrder(members, orderAndHolder(path), input).order;
}

/**
 * A port with one gateway is reached directly. With the second one its group begins to watch them by BFD; until BFD is
 * up, for about a second, other nodes reach neither. So the first path that gets a second gateway drains before; by the
 * time of the next path BFD is up.
 */
function isHeldBack(path: AnchorPath, order: readonly string[], { paths, nowMs }: AnchorInput): boolean {
  const isSingle = orderOf(path).length === 1 && orderOf(path)[0] === order[0];
  if (!isSingle || order.length === 1 || path.holder === '') return false;
  const others = paths.filter(({ index, isRetiring }) => index !== path.index && !isRetiring);
  const isWatched = others.some(({ memory, present }) => {
    if (memory === undefined) return present.length > 1;
    return memory.order.length > 1 && memory.phase === 'settled' && nowMs - memory.sinceMs >= bfdMs;
  });
  return others.length > 0 && !isWatched;
}

function moved(order: readonly string[], first: string): readonly string[] {
  return [first, ...order.filter((chassis) => chassis !== first)];
}

function away({ holder, memory }: AnchorPath, current: AnchorMemory, { nowMs, isFollowed }: AnchorInput): AnchorMemory {
  const isAway = holder !== current.order[0] && (holder !== '' || current.phase === 'moving');
  const isSameAnchor = isFollowed && (memory === undefined || memory.order[0] === current.order[0]);
  const sinceMs = isAway ? (isSameAnchor ? (current.awaySinceMs ?? nowMs) : nowMs) : undefined;
  return { ...current, awaySinceMs: sinceMs };
}

/** It was moved to a gateway that lives, as far as is known, and that does not take it: another one may. */
function isUnclaimed({ memory, holder }: AnchorPath, { nowMs }: AnchorInput): boolean {
  const { phase, awaySinceMs } = memory ?? {};
  return phase === 'moving' && holder === '' && awaySinceMs !== undefined && nowMs - awaySinceMs >= deadAfterMs;
}

interface StepContext {
  readonly input: AnchorInput;
  readonly memories: ReadonlyMap<number, AnchorMemory>;
  /** The whole order, if all of its gateways reach each other. */
  readonly members: readonly string[];
  readonly target: string | undefined;
}

interface Step {
  readonly memory: AnchorMemory;
  readonly wakeMs?: number;
  readonly blocked?: string;
}

function advance(path: AnchorPath, before: AnchorMemory, context: StepContext): Step {
  const { nowMs } = context.input;
  const anchor = before.order[0];
  const { target, members } = context;
  const isWhole = reachable(members, path, context.input).length === before.order.length;
  const isAtRest = path.isRetiring || target === undefined || (target === anchor && isWhole);
  if (before.phase === 'moving') {
    const isDead = before.awaySinceMs !== undefined && nowMs - before.awaySinceMs >= deadAfterMs;
    if (path.holder === anchor) return { memory: settled(before, nowMs) };
    if (isAtRest || !isDead) return { memory: before };
  }
  if (before.phase === 'draining') {
    if (isAtRest) return { memory: settled(before, nowMs) };
    const announcedSinceMs = before.announcedSinceMs ?? (path.isDrainAnnounced ? nowMs : undefined);
    if (announcedSinceMs === undefined) return { memory: before, ...blockedBy(context.input) };
    if (nowMs - announcedSinceMs < drainMs)
      return { memory: { ...before, announcedSinceMs }, wakeMs: announcedSinceMs + drainMs };
    return { memory: reordered(path, { ...context, target }) };
  }
  if (isAtRest) return { memory: before };
  return start(path, before, { ...context, target });
}

function start(path: AnchorPath, before: AnchorMemory, context: StepContext & { readonly target: string }): Step {
  const { input, memories } = context;
  const { nowMs, isHubConnected, holdDownMs } = input;
  if (!isHubConnected) return { memory: before, ...blockedBy(input) };
  const others = input.paths.filter(({ index, isRetiring }) => index !== path.index && !isRetiring);
  if (others.length === 0 || path.holder === '') return { memory: reordered(path, context) };
  for (const { index, holder } of others) {
    const other = memories.get(index);
    if (other === undefined) continue;
    // A path that carries nothing now, or that cannot recover by itself, is not waited for.
    const isHopeless = other.phase === 'settled' && holder !== other.order[0];
    if (isHopeless) continue;
    if (other.phase !== 'settled') return { memory: before };
    const restedMs = other.sinceMs + holdDownMs + settleMs;
    if (restedMs > nowMs) return { memory: before, wakeMs: restedMs };
  }
  return { memory: { ...before, phase: 'draining', sinceMs: nowMs, announcedSinceMs: undefined } };
}

function blockedBy({ isHubConnected }: AnchorInput): { readonly blocked?: string } {
  if (isHubConnected) return {};
  return { blocked: 'it must move to another gateway, and waits for the hub to inform the other clusters' };
}

function settled(before: AnchorMemory, nowMs: number): AnchorMemory {
  return { ...before, phase: 'settled', sinceMs: nowMs, awaySinceMs: undefined, announcedSinceMs: undefined };
}

function reordered(
  path: AnchorPath,
  { members, target, input }: StepContext & { readonly target: string },
): AnchorMemory {
  return {
    order: reachable(moved(members, target), path, input),
    phase: 'moving',
    sinceMs: input.nowMs,
    awaySinceMs: undefined,
    announcedSinceMs: undefined,
  };
}
