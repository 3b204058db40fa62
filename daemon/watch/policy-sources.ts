/** Opens what the counters of policies, and the events about what they drop, are read from beside the bridge: logical flows in the southbound database, and objects of Kubernetes. */
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { watchDropNamespaces } from './drop-namespaces.ts';
import { LogicalFlows } from './logical-flows.ts';
import { watchNetworkPolicies } from './network-policies.ts';
import type { SouthboundAccess } from './southbound.ts';

export interface PolicySourcesOptions {
  readonly client: KubeClient;
  readonly southbound: Pick<SouthboundAccess, 'remotes' | 'onRemotes' | 'tls'>;
  /** Whether the Namespaces that want events are watched. */
  readonly hasNamespaces: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export function openPolicySources({ client, southbound, hasNamespaces, signal, log }: PolicySourcesOptions) {
  const logicalFlows = new LogicalFlows({ ...southbound, signal, log });
  const policies = watchNetworkPolicies({ client, signal, log });
  const namespaces = hasNamespaces ? watchDropNamespaces({ client, signal, log }) : undefined;
  return {
    logicalFlows,
    policies,
    namespaces,
    async close(): Promise<void> {
      await Promise.all([logicalFlows.close(), policies.stop(), namespaces?.stop()]);
    },
  };
}
