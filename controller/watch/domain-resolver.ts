/**
 * Asks the servers that answer pods about domain names, again and again: when the TTL of an answer ends, the server's own memory does, and pods may be told
 * something else from then on. In: names and servers. Out: answers, and calls when the time changes something. Rule: the number of questions a second is
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

/** Questions a second, and at the same time. */
const limits = { burst: 200, refillMs: 5, parallel: 100 } as const;
/** When to ask again, in seconds: after an answer with addresses, after one without, and after a failure. */
const soonest = 1;
const latest = { addresses: 300, none: 30, failed: 5 } as const;
const families = [4, 6] as const;
/** Times that lie this close together are one wake-up. */
const granularityMs = 20;

interface Question {
  readonly server: DnsServer;
  readonly name: string;
  readonly family: Family;
  /** Of the monotonic clock. */
  dueMs: number;
  isAsked: boolean;
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

export class DomainResolver {
  readonly #options: DomainResolverOptions;
  readonly #questions = new Map<string, Question>();
  readonly #bucket: TokenBucket;
  #running = 0;
  #isClosed = false;
  #cancel: (() => void) | undefined;

  constructor(options: DomainResolverOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(limits, options.timers.nowMs());
  }

  /** Sets what is asked: new questions are asked at once. */
  update(servers: readonly DnsServer[], names: Iterable<string>): void {
    const wanted = new Set<string>();
    for (const name of names)
      for (const server of servers)
        for (const family of families) {
          const key = `${serverText(server)} ${family} ${name}`;
          wanted.add(key);
          if (!this.#questions.has(key)) this.#questions.set(key, { server, name, family, dueMs: 0, isAsked: false });
        }
    for (const key of this.#questions.keys()) if (!wanted.has(key)) this.#questions.delete(key);
    this.#wake(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#questions.clear();
  }

  #wake(delayMs: number): void {
    this.#cancel?.();
    this.#cancel = this.#isClosed ? undefined : this.#options.timers.after(delayMs, () => this.#run());
  }

  #run(): void {
    const { timers, clockMs, nextMs, onTime } = this.#options;
    if (nextMs() <= clockMs()) onTime();
    const nowMs = timers.nowMs();
    let nextDueMs = Number.POSITIVE_INFINITY;
    const due: Question[] = [];
    for (const question of this.#questions.values()) {
      if (question.isAsked) continue;
      if (question.dueMs <= nowMs) due.push(question);
      else nextDueMs = Math.min(nextDueMs, question.dueMs);
    }
    // Those that have waited longest come first, so that each has its turn.
    for (const question of due.sort((a, b) => a.dueMs - b.dueMs)) {
      if (this.#running < limits.parallel && this.#bucket.take(nowMs)) void this.#ask(question);
      else nextDueMs = nowMs;
    }
    const delayMs = Math.min(nextDueMs - nowMs, nextMs() - clockMs());
    if (delayMs < Number.POSITIVE_INFINITY) this.#wake(Math.max(granularityMs, delayMs));
  }

  async #ask(question: Question): Promise<void> {
    const { server, name, family } = question;
    const { ask, onAnswer, timers } = this.#options;
    question.isAsked = true;
    this.#running += 1;
    const answer = await ask(server, name, family);
    this.#running -= 1;
    question.isAsked = false;
    // The answer may be for a question that is no longer asked.
    if (this.#isClosed || this.#questions.get(`${serverText(server)} ${family} ${name}`) !== question) return;
    question.dueMs = timers.nowMs() + pauseAfter(answer) * 1000;
    onAnswer({ name, family, server: serverText(server), answer });
    this.#wake(granularityMs);
  }
}
