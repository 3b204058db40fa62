/**
 * Asks the servers that answer pods about domain names, again and again: when the TTL of an answer ends, the server forgets the answer, and pods may get
 * another one from then on. In: names and servers. Out: answers, and calls when the time changes something. Rule: the number of questions a second is
 * limited; beyond it answers come later, and addresses stay meanwhile.
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
/** When to ask again, in seconds: after an answer with addresses, after one without, and after a failure. */
const soonest = 1;
const latest = { addresses: 300, none: 30, failed: 5 } as const;
const families = [4, 6] as const;
/** Times that lie this close together are one wake-up. */
const granularityMs = 20;

interface Question {
  readonly key: string;
  readonly name: string;
  readonly family: Family;
  /** Of the monotonic clock. */
  dueMs: number;
}

interface Source {
  readonly server: DnsServer;
  /** Questions that are not being asked, the earliest due first. */
  waiting: Question[];
  running: number;
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
  #running = 0;
  #isClosed = false;
  #cancel: (() => void) | undefined;
  #wakeAtMs = Number.POSITIVE_INFINITY;

  constructor(options: DomainResolverOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(limits, options.timers.nowMs());
  }

  /** Sets what is asked: new questions are asked at once. */
  update(servers: readonly DnsServer[], names: Iterable<string>): void {
    const wanted = new Set<string>();
    const all = [...names];
    for (const server of servers) {
      const source = this.#sourceOf(server);
      for (const name of all)
        for (const family of families) {
          const key = `${serverText(server)} ${family} ${name}`;
          wanted.add(key);
          if (this.#questions.has(key)) continue;
          const question = { key, name, family, dueMs: 0 };
          this.#questions.set(key, question);
          insert(source.waiting, question);
        }
    }
    for (const key of this.#questions.keys()) if (!wanted.has(key)) this.#questions.delete(key);
    for (const [text, source] of this.#sources) {
      source.waiting = source.waiting.filter(({ key }) => wanted.has(key));
      if (source.waiting.length === 0 && source.running === 0) this.#sources.delete(text);
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
    const source = this.#sources.get(text) ?? { server, waiting: [], running: 0 };
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
    while (this.#running < limits.parallel) {
      const source = this.#first();
      const question = source?.waiting[0];
      if (source === undefined || question === undefined) break;
      if (question.dueMs > nowMs) return question.dueMs - nowMs;
      if (!this.#bucket.take(nowMs)) return this.#bucket.waitMs;
      source.waiting.shift();
      void this.#ask(source, question);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The server whose question has waited longest, so that each has its turn; among equal ones the server with the fewest open questions. */
  #first(): Source | undefined {
    let first: Source | undefined;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const source of this.#sources.values()) {
      const dueMs = source.waiting[0]?.dueMs;
      if (dueMs === undefined || source.running >= limits.ofServer || dueMs > firstMs) continue;
      if (dueMs === firstMs && first !== undefined && first.running <= source.running) continue;
      first = source;
      firstMs = dueMs;
    }
    return first;
  }

  async #ask(source: Source, question: Question): Promise<void> {
    const { onAnswer, timers } = this.#options;
    const { key, name, family } = question;
    source.running += 1;
    this.#running += 1;
    const answer = await this.#answerOf(source.server, question);
    source.running -= 1;
    this.#running -= 1;
    this.#wake(granularityMs);
    // The answer may be for a question that is no longer asked.
    if (this.#isClosed || this.#questions.get(key) !== question) return;
    question.dueMs = timers.nowMs() + pauseAfter(answer) * 1000;
    insert(source.waiting, question);
    onAnswer({ name, family, server: serverText(source.server), answer });
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
