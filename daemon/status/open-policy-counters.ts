/** Opens what counts the packets of policies on this node, and its metrics. */
import type { Registry } from 'prom-client';
import type { Logger } from '../../lib/run/logger.ts';
import type { Local } from '../apply/open-local.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Sandboxes } from '../state/sandboxes.ts';
import { podAtOf } from './pod-at.ts';
import { PolicyCounters, type PolicyCountersOptions } from './policy-counters.ts';
import { openPolicyMetrics } from './policy-metrics.ts';

export interface OpenPolicyCountersOptions {
  readonly local: Pick<Local, 'ovs'>;
  readonly cluster: Cluster;
  readonly sandboxes: Sandboxes;
  readonly sources: Pick<PolicyCountersOptions, 'logicalFlows' | 'policies'>;
  /** OpenFlow socket of the integration bridge. */
  readonly bridgeSocket: string;
  readonly registry: Registry;
  readonly log: Logger;
}

export function openPolicyCounters(options: OpenPolicyCountersOptions): PolicyCounters {
  const { local, cluster, sandboxes, sources, bridgeSocket, registry, log } = options;
  const podAt = podAtOf({ local, cluster, sandboxes });
  const { logicalFlows, policies } = sources;
  const counters = new PolicyCounters({ bridgeSocket, logicalFlows, policies, podAt, log });
  openPolicyMetrics(registry, counters);
  return counters;
}
