/**
 * TCP MD5 signatures that the kernel of this node refused. BGP is not told of a segment with a wrong signature: the session just does
 * not come up. The kernel counts such segments, of all connections together and without an event, so the counters are looked at.
 */
import { readFileSync } from 'node:fs';
import type { RefusedSignatures } from '../state/observed.ts';

const lookMs = 250;
/** Routers try again after two minutes at the latest. */
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
  #wrongAtMs: number | undefined;
  #unexpectedAtMs: number | undefined;
  #told: RefusedSignatures;

  constructor(options: SignatureOptions) {
    this.#options = options;
    this.#counts = readCounts(options.file);
    this.#told = this.recent;
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  /** What was refused in the last minutes. */
  get recent(): RefusedSignatures {
    const sinceMs = this.#options.monotonicMs() - recentMs;
    const lately = (atMs: number | undefined) => (atMs !== undefined && atMs > sinceMs ? atMs : undefined);
    return { wrongAtMs: lately(this.#wrongAtMs), unexpectedAtMs: lately(this.#unexpectedAtMs) };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const [before, counts] = [this.#counts, readCounts(this.#options.file)];
    const nowMs = this.#options.monotonicMs();
    this.#counts = counts;
    if (counts.wrong > before.wrong) this.#wrongAtMs = nowMs;
    if (counts.unexpected > before.unexpected) this.#unexpectedAtMs = nowMs;
    const { recent } = this;
    if (recent.wrongAtMs === this.#told.wrongAtMs && recent.unexpectedAtMs === this.#told.unexpectedAtMs) return;
    this.#told = recent;
    this.#options.onChange();
  }
}

interface SignatureCounts {
  /** Segments with a wrong signature, or with none where one was due. */
  readonly wrong: number;
  /** Segments with a signature where none was due. */
  readonly unexpected: number;
}

/** The file has two lines a group: names, then values. @throws as readFileSync does */
function readCounts(file: string): SignatureCounts {
  const [names = [], values = []] = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  const count = (name: string): number => Number(values[names.indexOf(name)] ?? 0);
  return { wrong: count('TCPMD5Failure') + count('TCPMD5NotFound'), unexpected: count('TCPMD5Unexpected') };
}
