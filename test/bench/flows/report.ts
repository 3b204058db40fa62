/** Combines the results of flows. Pure. All times are in milliseconds. */
import { quantile } from '../row.ts';

/** One UDP flow. */
export interface UdpResult {
  readonly sent: number;
  readonly lost: number;
  /** Between the sending of two answered packets with lost ones between them; one interval where none was lost. */
  readonly gapMs: number;
  /** The longest an answer took. */
  readonly slowestMs: number;
  /** When each packet that was lost was sent. */
  readonly lostMs: readonly number[];
}

/** Packets lost one soon after the other, whatever their flows; Unix milliseconds. */
export interface Burst {
  readonly fromMs: number;
  readonly toMs: number;
  readonly packets: number;
}

/** One TCP connection. */
export interface TcpResult {
  /** The longest time without an answer. */
  readonly gapMs: number;
  /** Ended before its time, by reset or otherwise. */
  readonly isReset: boolean;
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface FlowReport {
  readonly intervalMs: number;
  readonly udp: {
    readonly flows: number;
    readonly sent: number;
    readonly lost: number;
    readonly gapMs: Spread;
    readonly slowestMs: number;
    /** The longest gap of each flow, in no order. */
    readonly gaps: readonly number[];
    readonly bursts: readonly Burst[];
  };
  readonly tcp: { readonly flows: number; readonly resets: number; readonly gapMs: Spread };
  /** The longest the sender itself was late: how much of a figure may be this machine's load. */
  readonly stallMs: number;
}

/** Losses further apart than this are two matters. */
const burstMs = 500;

/** `originMs`: origin of the packets' times, in Unix milliseconds. */
export function reportOf(
  intervalMs: number,
  udp: readonly UdpResult[],
  tcp: readonly TcpResult[],
  { stallMs, originMs }: { readonly stallMs: number; readonly originMs: number },
): FlowReport {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const gaps = udp.map(({ gapMs }) => Math.round(gapMs));
  return {
    intervalMs,
    udp: {
      flows: udp.length,
      sent: sum(udp.map(({ sent }) => sent)),
      lost: sum(udp.map(({ lost }) => lost)),
      gapMs: spreadOf(gaps),
      slowestMs: Math.round(Math.max(0, ...udp.map(({ slowestMs }) => slowestMs))),
      gaps,
      bursts: burstsOf(udp.flatMap(({ lostMs }) => lostMs.map((ms) => Math.round(originMs + ms)))),
    },
    tcp: {
      flows: tcp.length,
      resets: tcp.filter(({ isReset }) => isReset).length,
      gapMs: spreadOf(tcp.map(({ gapMs }) => Math.round(gapMs))),
    },
    stallMs: Math.round(stallMs),
  };
}

function burstsOf(timesMs: readonly number[]): readonly Burst[] {
  const bursts: { fromMs: number; toMs: number; packets: number }[] = [];
  for (const ms of timesMs.toSorted((a, b) => a - b)) {
    const last = bursts.at(-1);
    if (last === undefined || ms - last.toMs > burstMs) bursts.push({ fromMs: ms, toMs: ms, packets: 1 });
    else Object.assign(last, { toMs: ms, packets: last.packets + 1 });
  }
  return bursts;
}

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { p50: 0, p99: 0, max: 0 };
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99), max: Math.max(...values) };
}

/** When each packet of a flow was sent, and whether it was answered; in the order of sending. */
export interface Packet {
  readonly sentMs: number;
  /** Undefined: it was not. */
  readonly answeredMs: number | undefined;
}

export function resultOf(packets: readonly Packet[], intervalMs: number): UdpResult {
  let gapMs = 0;
  let slowestMs = 0;
  const lostMs: number[] = [];
  let lastAnswered = packets[0]?.sentMs ?? 0;
  let isBroken = false;
  for (const { sentMs, answeredMs } of packets) {
    if (answeredMs === undefined) {
      lostMs.push(sentMs);
      isBroken = true;
      continue;
    }
    // Without loss the time between two packets is the sender's own lateness.
    gapMs = Math.max(gapMs, isBroken ? sentMs - lastAnswered : intervalMs);
    slowestMs = Math.max(slowestMs, answeredMs - sentMs);
    lastAnswered = sentMs;
    isBroken = false;
  }
  const last = packets.at(-1);
  if (isBroken && last !== undefined) gapMs = Math.max(gapMs, last.sentMs + intervalMs - lastAnswered);
  return { sent: packets.length, lost: lostMs.length, gapMs, slowestMs, lostMs };
}
