/** Watches what the report of domain names depends on (`status/asked-domains.ts`), and what ports are observed for (`apply/port-guards.ts`): the names with `*` of policies, and the object of this node. */
import { reflect } from '../../lib/kube/reflector.ts';
import { askedDomains } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { parseAskedDomains } from '../../lib/policies/asked-domains.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { watchDomainPatterns } from './domain-patterns.ts';

/** Resolves once all existing objects were delivered. */
export async function openAskedSources({
  node,
  ...common
}: {
  readonly client: KubeClient;
  /** Name of the node of this daemon. */
  readonly node: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}) {
  const patterns = watchDomainPatterns(common);
  const own = reflect({
    ...common,
    resource: askedDomains,
    fieldSelector: `metadata.name=${node}`,
    parse: parseAskedDomains,
    // An installation that brings the CRDs by itself may not have it yet.
    optional: true,
  });
  await Promise.all([patterns.synced, own.synced]);
  return {
    patterns,
    own,
    async close(): Promise<void> {
      await Promise.all([patterns.stop(), own.stop()]);
    },
  };
}
