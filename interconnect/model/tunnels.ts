/** Reports of the daemons of gateways about tunnels to other gateways. */
import type { GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';

/** A tunnel to another gateway. */
export interface TunnelReport {
  readonly chassis: string;
  readonly state: GatewayTunnel['state'];
  /**
   * Since when, in Unix milliseconds by the clock of the node; NaN, which is before nothing, where the report lacks it.
   */
  readonly sinceMs: number;
}

/** The report of a gateway's daemon about its tunnels. */
export interface GatewayReport {
  readonly chassis: string;
  /** To gateways of other clusters. */
  readonly tunnels: readonly TunnelReport[];
  /** To gateways of this cluster. */
  readonly siblings: readonly TunnelReport[];
}

export interface CutReport extends GatewayReport {
  /** When its daemon last checked, by the node's clock; every second while the gateway is cut off. */
  readonly checkedAt: string | undefined;
}
