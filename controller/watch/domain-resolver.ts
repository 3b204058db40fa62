/**
 * Asks the servers that answer pods about domain names, again and again: when the TTL of an answer ends, the server forgets the answer, and pods may get
 * another one from then on. In: names and servers. Out: answers, and calls when the time changes something. Rule: the number of questions a second is
 * limited; beyond it answers come later, and addresses stay meanwhile. Names that only pods asked for take half of everything at most, so that invented names delay no name of a policy.
 */
import type { Answer } from '../../lib/dns/message.ts';
import type { DnsServer } from '../../lib/dns/ask.ts';
import type { Family } from '../../lib/net/ip.ts';
import type { Timers } from '../../lib/rounds/timers.ts';
import { TokenBucket } from '../../lib/run/token-bucket.ts';
import type { DomainAnswer } from '../model/domain.ts';

export interface DomainResolverOptions {
  readonly ask: (server: DnsServer, name: string, family: Family) => Promise<Answer>;
  readonly onAnswer: (answer: DomainAnswer) => void;
  /** When to call `onTime` next, in milliseconds of `clockMs`; infinite for never. */
  readonly nextMs: () => number;
  readonly onTime: () => void;
  /** Milliseconds since 1970. */
  readonly clockMs: () => number;
  readonly timers: Timers;
}

/** Questions a second, at the same time, and of these to one server, which may be silent. */
const limits = { burst: 200, refillMs: 5, parallel: 100, ofServer: 25 } as const;
/** What questions about observed names take of these. */
const observedLimits = { burst: 100, refillMs: 10, parallel: 50, ofServer: 12 } as const;
/** When to ask again, in seconds: after an answer with addresses, after one without, and after a failure. */
const soonest = 1;
const latest = { addresses: 300, none: 30, failed: 5 } as const;
const families = [4, 6] as const;
/** Times that lie this close together are one wake-up. */
const granularityMs = 20;

/** Names of policies come first, then those that only pods asked for. */
const ranks = ['named', 'observed'] as const;
type Rank = (typeof ranks)[number];

interface Question {
  readonly key: string;
  readonly rank: Rank;
  readonly name: string;
  readonly family: Family;
  /** Of the monotonic clock. */
  dueMs: number;
}

interface Source {
  readonly server: DnsServer;
  /** Questions that are not being asked, the earliest due first. */
  readonly waiting: Record<Rank, Question[]>;
  readonly running: Record<Rank, number>;
}

function runningOf({ running }: Source): number {
  return running.named + running.observed;
}

/** `address:port`, as answers name their server. */
export function serverText({ address, port }: DnsServer): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Seconds until a server has to be asked again. */
function pauseAfter(answer: Answer): number {
  if (answer.kind === 'failed') return latest.failed;
  const ttl =
    answer.kind === 'none'
      ? (answer.ttlSeconds ?? latest.failed)
      : Math.min(...answer.addresses.map(({ ttlSeconds }) => ttlSeconds));
  return Math.max(soonest, Math.min(ttl, latest[answer.kind]));
}

/** Puts a question where its time is. */
function insert(waiting: Question[], question: Question): void {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((waiting[middle]?.dueMs ?? 0) <= question.dueMs) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, question);
}

export class DomainResolver {
  readonly #options: DomainResolverOptions;
  readonly #questions = new Map<string, Question>();
  /** By `address:port`. */
  readonly #sources = new Map<string, Source>();
  readonly #bucket: TokenBucket;
  readonly #observedBucket: TokenBucket;
  #running = 0;
  #observedRunning = 0;
  #isClosed = false;
  #cancel: (() => void) | undefined;
  #wakeAtMs = Number.POSITIVE_INFINITY;

  constructor(options: DomainResolverOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(limits, options.timers.nowMs());
    this.#observedBucket = new TokenBucket(observedLimits, options.timers.nowMs());
  }

  /** Sets what is asked: new questions are asked at once. @param isObserved whether only pods asked for a name, and no policy has it */
  update(
    servers: readonly DnsServer[],
    names: Iterable<string>,
    isObserved: (name: string) => boolean = () => false,
  ): void {
    const wanted = new Set<string>();
    const all = [...names].map((name): readonly [string, Rank] => [name, isObserved(name) ? 'observed' : 'named']);
    for (const server of servers) {
      const source = this.#sourceOf(server);
      for (const [name, rank] of all)
        for (const family of families) {
          const key = `${serverText(server)} ${family} ${name} ${rank}`;
          wanted.add(key);
          if (this.#questions.has(key)) continue;
          const question = { key, rank, name, family, dueMs: 0 };
          this.#questions.set(key, question);
          insert(source.waiting[rank], question);
        }
    }
    for (const key of this.#questions.keys()) if (!wanted.has(key)) this.#questions.delete(key);
    for (const [text, source] of this.#sources) {
      for (const rank of ranks) source.waiting[rank] = source.waiting[rank].filter(({ key }) => wanted.has(key));
      const isIdle = ranks.every((rank) => source.waiting[rank].length === 0 && source.running[rank] === 0);
      if (isIdle) this.#sources.delete(text);
    }
    this.#wake(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#questions.clear();
    this.#sources.clear();
  }

  #sourceOf(server: DnsServer): Source {
    const text = serverText(server);
    const source = this.#sources.get(text) ?? {
      server,
      waiting: { named: [], observed: [] },
      running: { named: 0, observed: 0 },
    };
    this.#sources.set(text, source);
    return source;
  }

  /** Keeps an earlier time: many answers in a row must not put it off. */
  #wake(delayMs: number): void {
    const { timers } = this.#options;
    const atMs = timers.nowMs() + delayMs;
    if (this.#isClosed || this.#wakeAtMs <= atMs) return;
    this.#cancel?.();
    this.#wakeAtMs = atMs;
    this.#cancel = timers.after(delayMs, () => {
      this.#wakeAtMs = Number.POSITIVE_INFINITY;
      this.#run();
    });
  }

  #run(): void {
    const { timers, clockMs, nextMs, onTime } = this.#options;
    if (nextMs() <= clockMs()) onTime();
    const delayMs = Math.min(this.#askDue(timers.nowMs()), nextMs() - clockMs());
    if (delayMs < Number.POSITIVE_INFINITY) this.#wake(Math.max(granularityMs, delayMs));
  }

  /** Asks what is due. @returns milliseconds until more can be asked; infinite if only an answer makes that possible */
  #askDue(nowMs: number): number {
    let delayMs = Number.POSITIVE_INFINITY;
    for (const rank of ranks) delayMs = Math.min(delayMs, this.#askDueOf(rank, nowMs));
    return delayMs;
  }

  #askDueOf(rank: Rank, nowMs: number): number {
    const isObserved = rank === 'observed';
    while (this.#running < limits.parallel) {
      if (isObserved && this.#observedRunning >= observedLimits.parallel) break;
      const source = this.#first(rank);
      const question = source?.waiting[rank][0];
      if (source === undefined || question === undefined) break;
      if (question.dueMs > nowMs) return question.dueMs - nowMs;
      if (isObserved && !this.#observedBucket.take(nowMs)) return this.#observedBucket.waitMs;
      if (!this.#bucket.take(nowMs)) return this.#bucket.waitMs;
      source.waiting[rank].shift();
      void this.#ask(source, question);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The server whose question has waited longest, so that each has its turn; among equal ones the server with the fewest open questions. */
  #first(rank: Rank): Source | undefined {
    let first: Source | undefined;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const source of this.#sources.values()) {
      const dueMs = source.waiting[rank][0]?.dueMs;
      if (dueMs === undefined || runningOf(source) >= limits.ofServer || dueMs > firstMs) continue;
      if (rank === 'observed' && source.running.observed >= observedLimits.ofServer) continue;
      if (dueMs === firstMs && first !== undefined && runningOf(first) <= runningOf(source)) continue;
      first = source;
      firstMs = dueMs;
    }
    return first;
  }

  async #ask(source: Source, question: Question): Promise<void> {
    const { onAnswer, timers } = this.#options;
    const { key, rank, name, family } = question;
    this.#count(source, rank, 1);
    const answer = await this.#answerOf(source.server, question);
    this.#count(source, rank, -1);
    this.#wake(granularityMs);
    // The answer may be for a question that is no longer asked.
    if (this.#isClosed || this.#questions.get(key) !== question) return;
    question.dueMs = timers.nowMs() + pauseAfter(answer) * 1000;
    insert(source.waiting[rank], question);
    onAnswer({ name, family, server: serverText(source.server), answer });
  }

  #count(source: Source, rank: Rank, change: 1 | -1): void {
    source.running[rank] += change;
    this.#running += change;
    if (rank === 'observed') this.#observedRunning += change;
  }

  /** Whatever is wrong with one server must not end the controller. */
  async #answerOf(server: DnsServer, { name, family }: Question): Promise<Answer> {
    try {
      return await this.#options.ask(server, name, family);
    } catch (error) {
      return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
    }
  }
}
