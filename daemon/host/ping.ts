/**
 * ICMP echo with ping(8) of iputils. Its arguments are only addresses and numbers, and there is no shell in between. A failure to send is
 * part of the result, so nothing here throws.
 */
import { execFile } from 'node:child_process';
import { familyOf } from '../../lib/net/ip.ts';

export interface PingOptions {
  /** Tunnel addresses, checked by the caller. */
  readonly source: string;
  readonly target: string;
  readonly signal: AbortSignal;
}

export interface Echo {
  readonly sent: number;
  readonly received: number;
  readonly rttMs: { readonly min: number; readonly avg: number; readonly max: number } | undefined;
  /** Why nothing could be sent. */
  readonly problem: string | undefined;
}

/** Size of the IP and ICMP headers in bytes. */
const headers = { v4: 28, v6: 48 } as const;

/** Sends five small packets within a second; each answer may take a second. */
export function echo(options: PingOptions): Promise<Echo> {
  return ping(options, ['-q', '-c', '5', '-i', '0.2', '-W', '1']);
}

/**
 * Whether an IP packet of `size` bytes reaches the target unfragmented. The answer may be fragmented, because the other end probes the
 * path back. Sends up to five packets within a second and stops at the first answer.
 */
export async function passes(options: PingOptions, size: number): Promise<boolean> {
  const payload = size - (familyOf(options.target) === 6 ? headers.v6 : headers.v4);
  // With `do`, the path MTU that routers have reported also counts; the kernel remembers it for ten minutes.
  const args = ['-q', '-c', '1', '-w', '1', '-i', '0.2', '-M', 'do', '-s', String(payload)];
  return (await ping(options, args)).received > 0;
}

function ping({ source, target, signal }: PingOptions, args: readonly string[]): Promise<Echo> {
  const isSameFamily = familyOf(source) === familyOf(target);
  const own = isSameFamily ? ['-I', source] : [];
  return new Promise((resolve) => {
    execFile(
      'ping',
      ['-n', ...args, ...own, target],
      { env: { PATH: process.env['PATH'], LC_ALL: 'C' }, timeout: 10_000, signal },
      (error, stdout, stderr) => resolve(parsePing(stdout, stderr.trim() || (error?.message ?? ''))),
    );
  });
}

const counts = /^(\d+) packets transmitted, (\d+) received/m;
const times = /^(?:rtt|round-trip) min\/avg\/max\S* = ([\d.]+)\/([\d.]+)\/([\d.]+)/m;

/** Parses the output of ping; without statistics it has sent nothing, and `complaint` says why. */
export function parsePing(stdout: string, complaint: string): Echo {
  const [, sent, received] = counts.exec(stdout) ?? [];
  if (sent === undefined || received === undefined)
    return { sent: 0, received: 0, rttMs: undefined, problem: complaint === '' ? 'ping ended silently' : complaint };
  const [, min, avg, max] = times.exec(stdout) ?? [];
  const rttMs = avg === undefined ? undefined : { min: Number(min), avg: Number(avg), max: Number(max) };
  return { sent: Number(sent), received: Number(received), rttMs, problem: undefined };
}
