/** What daemons of gateways report of the tunnels to other gateways. */
import type { GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';

/** A tunnel to another gateway. */
export interface TunnelReport {
  readonly chassis: string;
  readonly state: GatewayTunnel['state'];
  /** Since when, in Unix milliseconds by the clock of the node; NaN, which is before nothing, where it is not said. */
  readonly sinceMs: number;
}

/** What the daemon of a gateway says of its tunnels. */
export interface GatewayReport {
  readonly chassis: string;
  /** To gateways of other clusters. */
  readonly tunnels: readonly TunnelReport[];
  /** To gateways of this cluster. */
  readonly siblings: readonly TunnelReport[];
}

export interface CutReport extends GatewayReport {
  /** When its daemon last looked, by the node's clock; told every second by one that is cut off. */
  readonly checkedAt: string | undefined;
}
