/** Watches which domain names policies of the whole cluster name with `*`. Their kinds may not be installed. */
import { isDomainPattern } from '../../lib/dns/name.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { parseAdminRules, parseBaselineRules, parseClusterRules } from '../../lib/policies/parse-cluster.ts';
import type { ClusterRules } from '../../lib/policies/policy.ts';
import type { Logger } from '../../lib/run/logger.ts';

/** The names with `*` of a policy. Only rules of egress have names. */
function patternsOf({ egress = [] }: ClusterRules): readonly string[] {
  return egress.flatMap(({ peers }) => (peers.domains ?? []).filter(isDomainPattern));
}

export interface WatchedPatterns {
  readonly synced: Promise<unknown>;
  readonly all: ReadonlySet<string>;
  subscribe(listener: () => void): void;
  stop(): Promise<unknown>;
}

export function watchDomainPatterns(options: {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
}): WatchedPatterns {
  const watch = (resource: typeof clusterNetworkPolicies, parse: (raw: RawObject) => ClusterRules) =>
    reflect({ ...options, resource, parse: (raw) => patternsOf(parse(raw)), optional: true });
  const policies = [
    watch(clusterNetworkPolicies, parseClusterRules),
    watch(adminNetworkPolicies, parseAdminRules),
    watch(baselineAdminNetworkPolicies, parseBaselineRules),
  ];
  return {
    synced: Promise.all(policies.map(({ synced }) => synced)),
    get all() {
      return new Set(policies.flatMap((reflector) => [...reflector.entries()].flatMap(([, patterns]) => patterns)));
    },
    subscribe(listener) {
      for (const reflector of policies)
        reflector.subscribe(({ before = [], after = [] }) => {
          if (before.join() !== after.join()) listener();
        });
    },
    stop: () => Promise.all(policies.map((reflector) => reflector.stop())),
  };
}
