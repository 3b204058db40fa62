/** Opens what the counters of policies, and the events about what they drop, are read from beside the bridge: logical flows in the southbound database, and objects of Kubernetes. */
import { join } from 'node:path';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { watchDropNamespaces } from './drop-namespaces.ts';
import { LogicalFlows } from './logical-flows.ts';
import { watchNetworkPolicies } from './network-policies.ts';

export interface PolicySourcesOptions {
  readonly client: KubeClient;
  /** The remotes of the southbound database, which may change. */
  readonly access: {
    readonly southbound: { readonly remotes: readonly string[] };
    subscribe(listener: () => void): void;
  };
  /** Folder with `ca.crt`, `tls.crt` and `tls.key` for that database. */
  readonly tlsFolder: string;
  /** Whether the Namespaces that want events are watched. */
  readonly hasNamespaces: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export function openPolicySources({ client, access, tlsFolder, hasNamespaces, signal, log }: PolicySourcesOptions) {
  const [ca = '', cert = '', key = ''] = ['ca.crt', 'tls.crt', 'tls.key'].map((name) => join(tlsFolder, name));
  const logicalFlows = new LogicalFlows({
    remotes: () => access.southbound.remotes,
    onRemotes: (listener) => access.subscribe(listener),
    tls: { ca, cert, key },
    signal,
    log,
  });
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
