/** What flows met, put together. Pure. All times are in milliseconds. */
import { quantile } from '../row.ts';

/** One UDP flow. */
export interface UdpResult {
  readonly sent: number;
  readonly lost: number;
  /** Between the sending of two answered packets with lost ones between them; one interval where none was lost. */
  readonly gapMs: number;
  /** The longest an answer took. */
  readonly slowestMs: number;
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
  };
  readonly tcp: { readonly flows: number; readonly resets: number; readonly gapMs: Spread };
  /** The longest the sender itself was late: how much of a figure may be this machine's load. */
  readonly stallMs: number;
}

export function reportOf(
  intervalMs: number,
  udp: readonly UdpResult[],
  tcp: readonly TcpResult[],
  stallMs: number,
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
    },
    tcp: {
      flows: tcp.length,
      resets: tcp.filter(({ isReset }) => isReset).length,
      gapMs: spreadOf(tcp.map(({ gapMs }) => Math.round(gapMs))),
    },
    stallMs: Math.round(stallMs),
  };
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
  let lost = 0;
  let lastAnswered = packets[0]?.sentMs ?? 0;
  let isBroken = false;
  for (const { sentMs, answeredMs } of packets) {
    if (answeredMs === undefined) {
      lost += 1;
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
  return { sent: packets.length, lost, gapMs, slowestMs };
}
