/**
 * Keeps the resolver and the settled domain names together. In: changes of policies and of the servers of DNS. Out: questions to the resolver, answers to
 * `settle/domain-name/domain-names.ts`. A start waits for the first answers, so that no status says that they are missing.
 */
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { askDns, type DnsServer } from '../../lib/dns/ask.ts';
import { parseIp, formatIp } from '../../lib/net/ip.ts';
import { realTimers } from '../../lib/rounds/timers.ts';
import { UsageError } from '../../lib/run/flags.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Change } from '../model/change.ts';
import type { Cluster } from '../settle/cluster.ts';
import { dnsServers, dnsServiceKey, mostServers } from '../settle/domain-name/dns-servers.ts';
import { DomainResolver, serverText } from '../watch/domain-resolver.ts';

export interface DomainWatchOptions {
  readonly cluster: Cluster;
  /** Asked in place of the endpoints of the Service of DNS; undefined for these. */
  readonly servers: readonly DnsServer[] | undefined;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Called when addresses of a name changed, or what is wrong with it. */
  readonly onChange: () => void;
}

/** A little longer than a server may take to give no answer. */
const patienceMs = 3500;
const dnsPort = 53;

/** Addresses, or `address:port` with brackets around IPv6. @throws UsageError */
export function parseServers(texts: readonly string[]): readonly DnsServer[] | undefined {
  if (texts.length === 0) return undefined;
  return texts.map((text) => {
    const { six, four, port } = /^(?:\[(?<six>[^\]]+)\]|(?<four>[^:]+)):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
    const ip = parseIp(six ?? four ?? text);
    const number = Number(port ?? dnsPort);
    if (ip === undefined || number < 1 || number > 65_535)
      throw new UsageError(`--dns-servers: '${text}' is no address and no address:port`, 2);
    return { address: formatIp(ip), port: number };
  });
}

export class DomainWatch {
  readonly #options: DomainWatchOptions;
  readonly #resolver: DomainResolver;
  #asked: ReadonlySet<string> | undefined;
  #servers = '';
  /** Those that were reported as not asked. */
  #left = '';
  #isStarted = false;
  #isDue = false;
  #onSettled: (() => void) | undefined;

  constructor(options: DomainWatchOptions) {
    this.#options = options;
    const { cluster, signal } = options;
    this.#resolver = new DomainResolver({
      ask: (server, name, family) => askDns({ server, question: { name, family }, signal }),
      onAnswer: (answer) => {
        cluster.domains.answered(answer, Date.now());
        if (this.#onSettled !== undefined && this.#isSettled) this.#onSettled();
      },
      nextMs: () => cluster.domains.nextMs,
      onTime: () => cluster.domains.advance(Date.now()),
      clockMs: Date.now,
      timers: realTimers,
    });
    cluster.onChange((change) => this.#changed(change));
  }

  /** Begins to ask. Call once all objects and rows are known. Resolves when all servers have answered about all names or failed to, or after 3.5 seconds. */
  async start(): Promise<void> {
    this.#isStarted = true;
    this.#refresh();
    if (this.#isSettled) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSettled = resolve;
    await Promise.race([promise, setTimeoutAsync(patienceMs, undefined, { ref: false })]);
    this.#onSettled = undefined;
  }

  close(): void {
    this.#resolver.close();
  }

  get #isSettled(): boolean {
    const { domains } = this.#options.cluster;
    return [...domains.asked].every((name) => domains.isSettled(name));
  }

  #changed(change: Change): void {
    const isServer =
      (change.kind === 'services' && change.name === dnsServiceKey) ||
      (change.kind === 'endpointSlices' && (change.after ?? change.before)?.service === dnsServiceKey);
    if (change.kind === 'domains' || change.kind === 'domainProblems') this.#options.onChange();
    if ((change.kind !== 'domains' && !isServer) || !this.#isStarted || this.#isDue) return;
    this.#isDue = true;
    // The changes of one turn of the event loop are one.
    queueMicrotask(() => {
      this.#isDue = false;
      this.#refresh();
    });
  }

  #refresh(): void {
    const { cluster, servers: configured, log } = this.#options;
    const { asked: servers, left } = configured === undefined ? dnsServers(cluster) : { asked: configured, left: [] };
    const texts = servers.map(serverText);
    this.#report(left.map(serverText));
    const { asked } = cluster.domains;
    if (asked === this.#asked && texts.join() === this.#servers) return;
    if (asked.size > 0 && texts.join() !== this.#servers) log.info({ servers: texts }, 'servers of DNS');
    this.#asked = asked;
    this.#servers = texts.join();
    cluster.domains.setServers(texts);
    this.#resolver.update(servers, asked, (name) => !cluster.domains.isNamed(name));
  }

  #report(left: readonly string[]): void {
    const { cluster, log } = this.#options;
    if (cluster.domains.asked.size === 0 || left.join() === this.#left) return;
    this.#left = left.join();
    if (left.length > 0)
      log.warn(
        { servers: left },
        `servers of DNS are not asked, as kube-system/kube-dns has more than ${mostServers} endpoints: pods may get addresses from them that policies with domain names do not know; run fewer, or set --dns-servers to those that pods ask`,
      );
  }
}
