/**
 * The addresses of one domain name in one family. An address is for new connections until the TTL of the last answer with it and a grace have passed, if every
 * server has since answered without it, or failed to answer: one server's answer says nothing about what another one remembers. Then it is a former one for a day:
 * connections to it stay. While no server answers, everything stays.
 */
import type { Answer, TimedAddress } from '../../../lib/dns/message.ts';

/** After the TTL, for clients that have just been answered, and for resolvers that round it. */
export const graceMs = 10_000;
/** How long a connection stays to an address that the name no longer has. */
export const keptMs = 24 * 3_600_000;
/** TTLs count up to this. */
const longestTtlSeconds = 3600;
/** For an address that is known since before a restart, as if an answer with this TTL had just come. */
const restoredTtlSeconds = 300;
/** Of a name in a family, with the former ones. The API demands 100. */
export const mostAddresses = 1000;

/** What a server's last answer was: a failure, or what is wrong with its addresses. */
export interface Outcome {
  readonly failure?: string;
  /** An address that the name must not have, and what it is; of several the smallest text, because servers shuffle answers. */
  readonly refused?: string;
  readonly isShort?: boolean;
  /** Whether the name exists, where there is no address. */
  readonly exists?: boolean;
}

/** As many addresses as a name may have, the same ones of each order: each is judged, which takes time. */
function cut(addresses: readonly TimedAddress[]): readonly TimedAddress[] {
  if (addresses.length <= mostAddresses) return addresses;
  return [...addresses].sort((a, b) => (a.address < b.address ? -1 : 1)).slice(0, mostAddresses);
}

/** The text that is the same whatever the order. */
export function smallest(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : texts.reduce((a, b) => (b < a ? b : a));
}

export class DomainAddresses {
  /** Until when the last answer holds, with its grace. */
  readonly #current = new Map<string, number>();
  readonly #left = new Map<string, number>();
  readonly outcomes = new Map<string, Outcome>();
  #servers: ReadonlySet<string>;
  readonly #most: number;
  /** When each server has last answered, or failed to. */
  readonly #heardMs = new Map<string, number>();
  readonly #answeredMs = new Map<string, number>();
  /** Since when every server was heard and one answered: addresses whose TTL ended before it are missed. */
  #judgedMs = Number.NEGATIVE_INFINITY;
  #nextMs = Number.POSITIVE_INFINITY;

  /** @param servers that are asked. @param most addresses, with the former ones */
  constructor(servers: ReadonlySet<string>, most = mostAddresses) {
    this.#servers = servers;
    this.#most = most;
  }

  get current(): Iterable<string> {
    return this.#current.keys();
  }

  get left(): ReadonlyMap<string, number> {
    return this.#left;
  }

  /** When the addresses change next without an answer, in milliseconds since 1970; infinite if they do not. */
  get nextMs(): number {
    return this.#nextMs;
  }

  get isEmpty(): boolean {
    return this.#current.size === 0;
  }

  restore(current: readonly string[], left: ReadonlyMap<string, number>, nowMs: number): void {
    for (const address of current) this.#current.set(address, nowMs + restoredTtlSeconds * 1000 + graceMs);
    for (const [address, untilMs] of left) if (!this.#current.has(address)) this.#left.set(address, untilMs);
    this.expire(nowMs);
  }

  /** Sets the servers that are asked. Addresses that end by it do so when `expire` is called next. */
  setServers(servers: ReadonlySet<string>): void {
    this.#servers = servers;
    for (const server of this.outcomes.keys()) if (!servers.has(server)) this.outcomes.delete(server);
    for (const server of this.#heardMs.keys()) if (!servers.has(server)) this.#heardMs.delete(server);
    for (const server of this.#answeredMs.keys()) if (!servers.has(server)) this.#answeredMs.delete(server);
    this.#weigh();
    this.#plan();
  }

  /** Takes an answer of a server that is asked. @param refusedAs what an address is that the name must not have. @returns whether the addresses changed */
  answered(server: string, answer: Answer, nowMs: number, refusedAs: (address: string) => string | undefined): boolean {
    this.#heardMs.set(server, nowMs);
    if (answer.kind !== 'failed') this.#answeredMs.set(server, nowMs);
    this.#weigh();
    if (answer.kind === 'failed') {
      this.outcomes.set(server, { failure: answer.reason });
      return this.expire(nowMs);
    }
    if (answer.kind === 'none') {
      this.outcomes.set(server, { exists: answer.exists });
      return this.expire(nowMs);
    }
    const refused: string[] = [];
    const fresh = new Map<string, number>();
    for (const { address, ttlSeconds } of cut(answer.addresses)) {
      const use = refusedAs(address);
      const untilMs = nowMs + Math.min(ttlSeconds, longestTtlSeconds) * 1000 + graceMs;
      const known = this.#current.get(address);
      if (use !== undefined) refused.push(`${address} is ${use}`);
      else if (known === undefined) fresh.set(address, untilMs);
      else this.#current.set(address, Math.max(known, untilMs));
    }
    // Addresses that have gone make room.
    const isExpired = this.expire(nowMs);
    const added = [...fresh].slice(0, Math.max(0, this.#most - this.#current.size));
    for (const [address, untilMs] of added) {
      this.#left.delete(address);
      this.#current.set(address, untilMs);
    }
    const isShort = added.length < fresh.size || answer.addresses.length > mostAddresses;
    const first = smallest(refused);
    this.outcomes.set(server, { isShort, ...(first !== undefined && { refused: first }) });
    return this.expire(nowMs) || isExpired || added.length > 0;
  }

  /** Takes note that a server answered about another name, or failed to. @returns whether the addresses changed */
  heard(server: string, hasAnswered: boolean, nowMs: number): boolean {
    this.#heardMs.set(server, nowMs);
    if (hasAnswered) this.#answeredMs.set(server, nowMs);
    this.#weigh();
    return this.expire(nowMs);
  }

  /** Makes all addresses former ones. @returns whether the addresses changed */
  retire(nowMs: number): boolean {
    const isChanged = this.#current.size > 0;
    for (const address of this.#current.keys()) this.#left.set(address, nowMs + keptMs);
    this.#current.clear();
    return this.expire(nowMs) || isChanged;
  }

  /** Takes over the addresses of a name that is no longer asked about, as former ones. */
  inherit(from: DomainAddresses, nowMs: number): void {
    const former = [...from.#left, ...[...from.#current.keys()].map((address) => [address, nowMs + keptMs] as const)];
    for (const [address, untilMs] of former) {
      if (this.#current.has(address)) continue;
      this.#left.set(address, Math.max(untilMs, this.#left.get(address) ?? 0));
    }
    this.expire(nowMs);
  }

  /** Ends what ends with the time. @returns whether the addresses changed */
  expire(nowMs: number): boolean {
    let isChanged = false;
    for (const [address, untilMs] of this.#current) {
      if (untilMs > nowMs || !this.#isMissed(untilMs)) continue;
      this.#current.delete(address);
      this.#left.set(address, nowMs + keptMs);
      isChanged = true;
    }
    for (const [address, untilMs] of this.#left)
      if (untilMs <= nowMs) isChanged = this.#left.delete(address) || isChanged;
    // In the order in which they left.
    for (const address of this.#left.keys()) {
      if (this.#current.size + this.#left.size <= this.#most) break;
      this.#left.delete(address);
      isChanged = true;
    }
    this.#plan();
    return isChanged;
  }

  #plan(): void {
    this.#nextMs = Number.POSITIVE_INFINITY;
    for (const untilMs of this.#current.values())
      if (this.#isMissed(untilMs)) this.#nextMs = Math.min(this.#nextMs, untilMs);
    for (const untilMs of this.#left.values()) this.#nextMs = Math.min(this.#nextMs, untilMs);
  }

  #weigh(): void {
    const lastAnswerMs = Math.max(...this.#answeredMs.values());
    const heard = [...this.#servers].map((server) => this.#heardMs.get(server) ?? Number.NEGATIVE_INFINITY);
    this.#judgedMs = Math.min(lastAnswerMs, ...heard);
  }

  /** Whether no server had an address after its TTL. */
  #isMissed(untilMs: number): boolean {
    return this.#judgedMs >= untilMs - graceMs;
  }
}
