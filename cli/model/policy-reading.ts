import type { PolicyPod } from '../../lib/policies/judge.ts';
import type { PolicyProtocol, PolicyRules } from '../../lib/policies/policy.ts';

/** One end of a connection, as the API knows it. */
export interface PolicyHost {
  /** `pod shop/web`, `node n1` or an address. */
  readonly text: string;
  /** Undefined for a node, a pod in the network of its node, and an address outside of the cluster. */
  readonly pod: (Omit<PolicyPod, 'vpc'> & { readonly vpc: string; readonly securityGroups: string }) | undefined;
  /** The node that the host is, or is on; empty if it is unknown. */
  readonly node: string;
  /** By which it sends to pods. */
  readonly addresses: readonly string[];
}

export interface PolicyReading {
  readonly from: PolicyHost;
  readonly to: PolicyHost;
  readonly port: { readonly protocol: PolicyProtocol; readonly number: number } | undefined;
  /** By `namespace/name`. */
  readonly policies: ReadonlyMap<string, PolicyRules>;
}
