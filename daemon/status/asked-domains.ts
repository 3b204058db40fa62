/**
 * Reports the domain names that pods of this node ask DNS for (AskedDomains), so that the controller can resolve those that policies name with `*`. In: copies of questions that the
 * bridge sends (`ovs/port-flows.ts`), the policies, and the pod at a port. Out: the names, by at most one write in half a second, and one in five seconds if there are many. Rules: nothing is copied while no policy names a
 * name with `*`; a pod that asks more often than a limit is not observed for some seconds, because each copy costs Open vSwitch more than the packet.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AskedDomain } from '../../lib/api/kinds/asked-domains.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { askedName } from '../../lib/dns/message.ts';
import { parseDomainName } from '../../lib/dns/name.ts';
import { apiVersionOf, askedDomains } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { TokenBucket } from '../../lib/run/token-bucket.ts';
import type { PacketIn } from '../model/packet-in.ts';
import type { Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import { readDatagram } from '../ovs/packet-headers.ts';
import { AskedNames, limits } from '../settle/asked-names.ts';

export type AskingPod = Pick<Pod, 'namespace' | 'name' | 'uid' | 'labels'>;

/** The names with `*` that policies have. */
export interface DomainPatterns {
  readonly all: ReadonlySet<string>;
  subscribe(listener: () => void): void;
}

export interface AskedDomainsReportOptions<P extends AskingPod> {
  readonly client: Pick<KubeClient, 'patch'>;
  /** The Node; its uid as it is now. */
  readonly node: { readonly name: string; readonly uid: string };
  /** What the object has, as a former process left it; undefined without one. */
  readonly known: readonly AskedDomain[] | undefined;
  readonly patterns: DomainPatterns;
  /** The pod at a port of the bridge; undefined if it is of no pod. */
  readonly podAt: (port: number) => P | undefined;
  readonly report: (pod: P, problem: Problem) => void;
  /** Called when other pods are observed than before. */
  readonly onObserved: () => void;
  readonly signal?: AbortSignal;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds since 1970. */
  readonly clockMs?: () => number;
}

/** Questions of one pod in a second, and how long it is not observed after more of them. */
const [mostQuestions, quietMs] = [200, 10_000];
const firstWriteMs = 20;
const spacingMs = 500;
/** An author who adds one name after the other must not have a long object written each time. */
const writes = { burst: 20, refillMs: 5000 } as const;
const sweepMs = 60_000;

/** What resolves names for others asks for all of their names. An author who labels his pod like this takes names from it alone. */
export function isResolver({ labels }: Pick<Pod, 'labels'>): boolean {
  return labels['k8s-app'] === 'kube-dns';
}

export class AskedDomainsReport<P extends AskingPod = Pod> {
  readonly #options: AskedDomainsReportOptions<P>;
  readonly #names = new AskedNames();
  readonly #writer: ObjectWriter;
  readonly #sweep: NodeJS.Timeout;
  /** Questions by pod since `#secondMs`. */
  readonly #counts = new Map<string, number>();
  #secondMs = 0;
  /** Pods that are not observed → until when. */
  readonly #quiet = new Map<string, number>();
  /** Pods whose limit was reported. */
  readonly #reported = new Set<string>();
  #written: readonly AskedDomain[];
  #timer: NodeJS.Timeout | undefined;
  readonly #pace = new TokenBucket(writes, performance.now());
  #lastWriteMs = Number.NEGATIVE_INFINITY;
  #isObserving = false;
  #isClosed = false;

  constructor(options: AskedDomainsReportOptions<P>) {
    this.#options = options;
    const { known = [], patterns, signal } = options;
    this.#written = known;
    this.#names.restore(known, this.#nowMs);
    this.#writer = new ObjectWriter({ ...(signal !== undefined && { signal }) });
    patterns.subscribe(() => this.#setPatterns());
    this.#setPatterns();
    this.#sweep = setInterval(() => {
      if (this.#names.expire(this.#nowMs)) this.#writeSoon();
    }, sweepMs).unref();
  }

  /** Whether the questions of a pod are copied. */
  isObserved({ podUid }: Pick<Sandbox, 'podUid'>): boolean {
    return this.#isObserving && !this.#quiet.has(podUid);
  }

  /** Takes a packet that a flow of `port-flows.ts` copied: the end of its cookie is the port. */
  take({ cookie, frame }: PacketIn): void {
    const datagram = readDatagram(frame);
    const name = datagram && askedName(datagram);
    const pod = this.#options.podAt(cookie & 0xffff);
    if (pod === undefined || isResolver(pod) || this.#isTooMuch(pod)) return;
    if (name === undefined || parseDomainName(name) !== name) return;
    const noted = this.#names.note(name, pod, this.#nowMs);
    if (noted === 'new') this.#writeSoon();
    else if (noted in limits) this.#reportLimit(pod, noted as keyof typeof limits);
  }

  /** The object is gone, as that of an earlier Node of this name. */
  gone(): void {
    this.#written = [];
    this.#writeSoon();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    clearTimeout(this.#timer);
    await this.#writer.close();
  }

  get #nowMs(): number {
    return (this.#options.clockMs ?? Date.now)();
  }

  #setPatterns(): void {
    const { patterns, onObserved } = this.#options;
    const all = patterns.all;
    this.#names.setPatterns(all);
    this.#writeSoon();
    if (this.#isObserving === all.size > 0) return;
    this.#isObserving = all.size > 0;
    onObserved();
  }

  #isTooMuch(pod: P): boolean {
    const nowMs = this.#nowMs;
    if (Math.abs(nowMs - this.#secondMs) >= 1000) {
      this.#counts.clear();
      this.#secondMs = nowMs;
    }
    const count = (this.#counts.get(pod.uid) ?? 0) + 1;
    this.#counts.set(pod.uid, count);
    if (count <= mostQuestions) return false;
    if (this.#quiet.has(pod.uid)) return true;
    this.#quiet.set(pod.uid, nowMs + quietMs);
    setTimeout(() => {
      this.#quiet.delete(pod.uid);
      if (!this.#isClosed) this.#options.onObserved();
    }, quietMs).unref();
    this.#options.onObserved();
    const message = `it sends more than ${mostQuestions} questions of DNS in a second: for ${quietMs / 1000} s, names that it asks for first are not resolved for policies that name them with *`;
    this.#reportOnce(pod, { code: 'TooManyDnsQuestions', message });
    return true;
  }

  #reportLimit(pod: P, what: keyof typeof limits): void {
    const whose = {
      pod: 'it asks',
      namespace: 'pods of its Namespace ask on this node',
      node: 'pods of this node ask',
    };
    const message = `${whose[what]} for more than ${limits[what]} domain names that policies name with *: the others match nothing until some were not asked for within an hour; name the domain in a policy for fewer pods, or use networks`;
    this.#reportOnce(pod, { code: 'TooManyDomainNames', message });
  }

  #reportOnce(pod: P, problem: Problem): void {
    const key = `${pod.uid} ${problem.code}`;
    // The memory has a bound; then an event may be repeated.
    if (this.#reported.size > limits.node) this.#reported.clear();
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#options.report(pod, problem);
  }

  #writeSoon(delayMs = firstWriteMs): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    if (isDeepStrictEqual(this.#names.entries, this.#written)) return;
    const sinceMs = performance.now() - this.#lastWriteMs;
    this.#timer = setTimeout(() => void this.#write(), Math.max(delayMs, spacingMs - sinceMs)).unref();
  }

  async #write(): Promise<void> {
    const { client, node, log } = this.#options;
    if (!this.#pace.take(performance.now())) {
      this.#timer = undefined;
      return this.#writeSoon(this.#pace.waitMs);
    }
    const names = this.#names.entries;
    const { name, uid } = node;
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid };
    const body = {
      apiVersion: apiVersionOf(askedDomains),
      kind: askedDomains.kind,
      metadata: { name, ownerReferences: [owner] },
      spec: { names },
    };
    const outcome = await this.#writer.enqueue(name, () => client.patch(askedDomains, { name }, 'apply', body));
    this.#timer = undefined;
    this.#lastWriteMs = performance.now();
    if (outcome === 'written') this.#written = names;
    else if (outcome instanceof Error)
      log.warn({ reason: outcome.message }, 'the domain names that pods ask for cannot be reported now');
    this.#writeSoon(outcome === 'written' ? 0 : sweepMs);
  }
}
