import type { ClusterWide } from '../../lib/policies/judge-cluster.ts';
import { familyOf, type Family } from '../../lib/net/ip.ts';
import type { PolicyPod, RemoteMember } from '../../lib/policies/judge.ts';
import type { PolicyProtocol, PolicyRules } from '../../lib/policies/policy.ts';
import type { TraceReading } from './ovn-trace.ts';
import type { Unreadable } from './snapshot.ts';

export interface PolicyNode {
  readonly name: string;
  /** In the Subnet join. */
  readonly joinAddresses: readonly string[];
  readonly addresses: readonly string[];
}

/** One end of a connection, as the API knows it. */
export interface PolicyHost {
  /** `pod shop/web`, `node n1` or an address. */
  readonly text: string;
  /** Undefined for a node, a pod in the network of its node, and an address outside of the cluster. */
  readonly pod: (PolicyPod & { readonly name: string; readonly securityGroups: string }) | undefined;
  /** The node that the host is, or is on. */
  readonly node: PolicyNode | undefined;
  /** From which it sends to pods. */
  readonly sources: readonly string[];
  /** At which pods reach it. */
  readonly destinations: readonly string[];
  /** Of an address: the sets of other clusters' pods that have it, for policies that name clusters. */
  readonly remote?: readonly RemoteMember[];
}

/** The policies of the whole cluster. */
export interface ClusterReading {
  readonly cluster: ClusterWide;
  /** What the controller says is wrong with policies: by `namespace/name`, and by `Kind/name` those of the whole cluster. */
  readonly reported: ReadonlyMap<string, string>;
  /** What of it the user may not read. */
  readonly unread: readonly Unreadable[];
}

export interface PolicyReading extends ClusterReading {
  readonly from: PolicyHost;
  readonly to: PolicyHost;
  readonly port: { readonly protocol: PolicyProtocol; readonly number: number } | undefined;
  /** By `namespace/name`. */
  readonly policies: ReadonlyMap<string, PolicyRules>;
  /** Absent if OVN is not to be asked. */
  readonly ovn?: TraceReading;
}

/** The addresses of a connection in one family; undefined if an end has none. */
export function addressesOf(
  { from, to }: Pick<PolicyReading, 'from' | 'to'>,
  family: Family,
): { readonly source: string; readonly destination: string } | undefined {
  const ofFamily = (addresses: readonly string[]): string | undefined =>
    addresses.find((address) => familyOf(address) === family);
  const [source, destination] = [ofFamily(from.sources), ofFamily(to.destinations)];
  return source === undefined || destination === undefined ? undefined : { source, destination };
}

/** A pod of a namespace, with the workload that made it. */
export interface OwnedPod {
  readonly name: string;
  /** Undefined for a pod that its author made without a controller. */
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  readonly pod: PolicyPod;
  readonly addresses: readonly string[];
}

/** A namespace with what its NetworkPolicies select. */
export interface NamespaceReading extends ClusterReading {
  readonly namespace: string;
  readonly pods: readonly OwnedPod[];
  /** By `namespace/name`. */
  readonly policies: ReadonlyMap<string, PolicyRules>;
  /** The number of pods that no policy selects, by the reason. */
  readonly leftOut: { readonly hostNetwork: number; readonly withoutAddress: number };
}
