/** Kube-OVN's ConfigMap `ovn-ic-config` and the Interconnect that follows it, as values. */
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';

/** Value of the annotation `isthmus.network/from`. */
export const ovnIcConfig = 'ovn-ic-config';

/** A ConfigMap that wants this cluster joined. */
export interface IcConfig {
  readonly clusterName: string;
  /** `host:port`. */
  readonly hub: string;
  /** Names of nodes. */
  readonly gateways: readonly string[];
  /** Whether routes are exchanged by themselves. */
  readonly isAutoRoute: boolean;
}

/** The Interconnect `default` as far as it matters here. */
export interface FollowingInterconnect {
  readonly uid: string;
  readonly isDeleting: boolean;
  /** The source it was made from; undefined if a user made it. */
  readonly from: string | undefined;
  readonly clusterName: string;
  readonly hub: string;
  readonly gatewayNodeSelector: LabelSelector;
}
