/**
 * Counts TCP MD5 signatures that the kernel of this node refused. BGP does not see a segment with a wrong signature: the session just does not come
 * up. The kernel counts such segments for all connections together and sends no event, so the counters are polled.
 */
import { readFileSync } from 'node:fs';
import type { RefusedSignatures } from '../model/observed.ts';

const lookMs = 250;
/** Routers retry after two minutes at the latest. */
const recentMs = 180_000;

export interface SignatureOptions {
  /** `/proc/net/netstat` of gobgpd's network namespace. */
  readonly file: string;
  readonly monotonicMs: () => number;
  readonly onChange: () => void;
}

export class SignatureWatch {
  readonly #options: SignatureOptions;
  readonly #timer: NodeJS.Timeout;
  #counts: SignatureCounts;
  #wrongMs: readonly number[] = [];
  #unexpectedMs: readonly number[] = [];

  constructor(options: SignatureOptions) {
    this.#options = options;
    this.#counts = readCounts(options.file);
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  /** The refused segments of the last minutes. */
  get recent(): RefusedSignatures {
    return { wrongMs: this.#wrongMs, unexpectedMs: this.#unexpectedMs, nowMs: this.#options.monotonicMs() };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const [before, counts] = [this.#counts, readCounts(this.#options.file)];
    const nowMs = this.#options.monotonicMs();
    this.#counts = counts;
    const wrongMs = withTime(this.#wrongMs, counts.wrong > before.wrong, nowMs);
    const unexpectedMs = withTime(this.#unexpectedMs, counts.unexpected > before.unexpected, nowMs);
    if (wrongMs === this.#wrongMs && unexpectedMs === this.#unexpectedMs) return;
    [this.#wrongMs, this.#unexpectedMs] = [wrongMs, unexpectedMs];
    this.#options.onChange();
  }
}

/** The times of the last minutes; the same array if nothing changed. */
function withTime(before: readonly number[], isNew: boolean, nowMs: number): readonly number[] {
  const [first = nowMs] = before;
  if (!isNew && first > nowMs - recentMs) return before;
  return [...before.filter((atMs) => atMs > nowMs - recentMs), ...(isNew ? [nowMs] : [])];
}

interface SignatureCounts {
  /** Segments with a wrong signature, or without a required signature. */
  readonly wrong: number;
  /** Segments with an unexpected signature. */
  readonly unexpected: number;
}

/** The file has two lines per group: names, then values. @throws the errors of readFileSync */
function readCounts(file: string): SignatureCounts {
  const [names = [], values = []] = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  const count = (name: string): number => Number(values[names.indexOf(name)] ?? 0);
  return { wrong: count('TCPMD5Failure') + count('TCPMD5NotFound'), unexpected: count('TCPMD5Unexpected') };
}
