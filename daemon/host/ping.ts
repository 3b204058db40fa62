/**
 * ICMP echo by ping(8) of iputils. Addresses and numbers only reach its arguments, and no shell is between. What keeps it
 * from sending is a value, so that whoever asked can tell it; nothing here throws.
 */
import { execFile } from 'node:child_process';

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

/** Bytes in front of the payload: IP and ICMP headers. */
const headers = { v4: 28, v6: 48 } as const;

/** Five small packets within a second; an answer may take a second. */
export function echo(options: PingOptions): Promise<Echo> {
  return ping(options, ['-q', '-c', '5', '-i', '0.2', '-W', '1']);
}

/**
 * Whether an IP packet of `size` bytes reaches the target unfragmented; the answer may come in fragments, since the way back
 * is the other end's to probe. Up to five are sent within a second; the first answer ends it.
 */
export async function passes(options: PingOptions, size: number): Promise<boolean> {
  const payload = size - (options.target.includes(':') ? headers.v6 : headers.v4);
  // `do` also obeys what routers have said of the path, which the kernel remembers for ten minutes.
  const args = ['-q', '-c', '1', '-w', '1', '-i', '0.2', '-M', 'do', '-s', String(payload)];
  return (await ping(options, args)).received > 0;
}

function ping({ source, target, signal }: PingOptions, args: readonly string[]): Promise<Echo> {
  const isSameFamily = source.includes(':') === target.includes(':');
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

/** What ping printed; without its statistics it has sent nothing, and `complaint` says why. */
export function parsePing(stdout: string, complaint: string): Echo {
  const [, sent, received] = counts.exec(stdout) ?? [];
  if (sent === undefined || received === undefined)
    return { sent: 0, received: 0, rttMs: undefined, problem: complaint === '' ? 'ping ended silently' : complaint };
  const [, min, avg, max] = times.exec(stdout) ?? [];
  const rttMs = avg === undefined ? undefined : { min: Number(min), avg: Number(avg), max: Number(max) };
  return { sent: Number(sent), received: Number(received), rttMs, problem: undefined };
}
