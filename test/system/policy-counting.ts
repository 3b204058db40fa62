/** The part of the daemon that counts packets of policies, for a node of a PolicyBed. */
import { PolicyCounters } from '../../daemon/status/policy-counters.ts';
import { LogicalFlows } from '../../daemon/watch/logical-flows.ts';
import { watchNetworkPolicies } from '../../daemon/watch/network-policies.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { PolicyBed } from './policy-bed.ts';
import type { NodeName } from './service-bed.ts';

export class PolicyCounting {
  readonly #counters: PolicyCounters;
  readonly #stop: () => Promise<unknown>;

  private constructor(counters: PolicyCounters, stop: () => Promise<unknown>) {
    this.#counters = counters;
    this.#stop = stop;
  }

  static async open(bed: PolicyBed, node: NodeName): Promise<PolicyCounting> {
    const { services } = bed;
    const { signal } = new AbortController();
    const log = createLogger('test');
    const logicalFlows = new LogicalFlows({
      remotes: () => [services.southbound],
      onRemotes: () => undefined,
      signal,
      log,
    });
    const policies = watchNetworkPolicies({ client: services.controller.kube, signal, log });
    await policies.synced;
    const counters = new PolicyCounters({
      bridgeSocket: services.bridgeSocket(node),
      logicalFlows,
      policies,
      podAt: (port) => bed.podAt(node, port),
      log,
      timing: { periodMs: 60_000, freshMs: 0 },
    });
    return new PolicyCounting(counters, () => Promise.all([logicalFlows.close(), policies.stop()]));
  }

  async close(): Promise<void> {
    this.#counters.close();
    await this.#stop();
  }

  /** Waits for these counts, by their labels, and no others. */
  async untilEqual(expected: Readonly<Record<string, number>>): Promise<void> {
    const text = JSON.stringify(expected);
    await eventually(`the counts are ${text}`, async () => {
      await this.#counters.refresh();
      const now = JSON.stringify(this.#now());
      if (now !== text) throw new Error(now);
      return true;
    });
  }

  #now(): Readonly<Record<string, number>> {
    const { rules, isolation } = this.#counters.counts;
    const texts = [
      ...[...rules].map(
        ({ kind, namespace, policy, direction, rule, verdict, packets }) =>
          [
            `${kind} ${namespace === '' ? '' : `${namespace}/`}${policy} ${direction} ${rule} ${verdict}`,
            packets,
          ] as const,
      ),
      ...[...isolation].map(
        ({ namespace, policy, direction, packets }) => [`${namespace}/${policy} ${direction}`, packets] as const,
      ),
    ];
    return Object.fromEntries(texts.filter(([, packets]) => packets > 0).sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
