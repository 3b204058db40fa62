/**
 * Counts the packets of policies on this node. In: the flows of the integration bridge, the southbound database, which says what rule of a policy
 * a flow is of, and NetworkPolicies and pods, which say what policies isolate a port. Out: the counts, read when they are asked for, and once in a while
 * between, because counters of a flow end with the flow.
 */
import type { PolicyDirection } from '../../lib/policies/selection.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { AclFlow } from '../model/acl-flow.ts';
import type { FlowCount } from '../model/flow-count.ts';
import type { IsolatingPolicy } from '../model/isolating-policy.ts';
import { bridgePorts, portKey, readFlows, type BridgePorts } from '../ovs/flow-reader.ts';
import { isolatingPolicies } from '../plan/isolating-policies.ts';
import { inTableOfAcl } from '../settle/acl-tables.ts';
import { PolicyCounts } from '../settle/policy-counts.ts';
import type { Mirror } from '../state/cluster.ts';
import type { PodPort } from './pod-at.ts';

export interface PolicyCountersOptions {
  /** OpenFlow socket of the integration bridge. */
  readonly bridgeSocket: string;
  /** Logical flows of policies by cookie; undefined until they are known. */
  readonly logicalFlows: { readonly acls: ReadonlyMap<number, AclFlow> | undefined };
  /** `get` takes `namespace/name`. */
  readonly policies: Pick<Mirror<IsolatingPolicy>, 'get' | 'entries'>;
  /** The pod at a port of the bridge; undefined if it is of no pod. */
  readonly podAt: (port: number) => PodPort | undefined;
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds between two readings that nobody asks for, and that a reading stays fresh. */
  readonly timing?: { readonly periodMs: number; readonly freshMs: number };
}

const defaultTiming = { periodMs: 30_000, freshMs: 5000 };

export class PolicyCounters {
  readonly counts = new PolicyCounts();
  readonly #options: PolicyCountersOptions;
  readonly #freshMs: number;
  readonly #timer: NodeJS.Timeout;
  #reading: Promise<void> | undefined;
  #readAt = -Infinity;
  #problem: string | undefined;

  constructor(options: PolicyCountersOptions) {
    this.#options = options;
    const { periodMs, freshMs } = options.timing ?? defaultTiming;
    this.#freshMs = freshMs;
    this.#timer = setInterval(() => void this.refresh(), periodMs).unref();
  }

  /** Whether the latest reading succeeded. */
  get isUp(): boolean {
    return this.#readAt !== -Infinity && this.#problem === undefined;
  }

  /** Resolves when the counts are fresh, or cannot be read now. */
  refresh(): Promise<void> {
    if (performance.now() - this.#readAt < this.#freshMs) return Promise.resolve();
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const { bridgeSocket, logicalFlows, log } = this.#options;
    const { acls } = logicalFlows;
    let problem: string | undefined;
    if (acls === undefined) problem = 'the southbound database has not answered yet';
    else
      try {
        const reading = await readFlows(bridgeSocket, [...acls.keys()]);
        this.#take(acls, inTableOfAcl(reading.flows, acls), bridgePorts(reading));
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        problem = error.message;
      }
    if (problem !== undefined && problem !== this.#problem)
      log.warn({ socket: bridgeSocket, reason: problem }, 'the packets of policies cannot be counted now');
    this.#problem = problem;
    this.#readAt = performance.now();
  }

  #take(origins: ReadonlyMap<number, AclFlow>, flows: readonly FlowCount[], ports: BridgePorts): void {
    const { policies, podAt } = this.#options;
    let byNamespace: ReadonlyMap<string, readonly IsolatingPolicy[]> | undefined;
    const isolatedBy = (flow: FlowCount, direction: PolicyDirection): readonly IsolatingPolicy[] => {
      const port = ports.get(portKey(flow.datapath, direction === 'ingress' ? flow.outPort : flow.inPort));
      const at = port === undefined ? undefined : podAt(port);
      if (at === undefined) return [];
      byNamespace ??= Map.groupBy(
        [...policies.entries()].map(([, policy]) => policy),
        ({ namespace }) => namespace,
      );
      return isolatingPolicies(byNamespace.get(at.pod.namespace) ?? [], at.pod, at.provider, direction);
    };
    const hasPolicy = (namespace: string, name: string): boolean => policies.get(`${namespace}/${name}`) !== undefined;
    this.counts.take({ atMs: performance.now(), flows, origins, isolatedBy, hasPolicy });
  }
}
