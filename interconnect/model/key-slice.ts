/** The data of a GatewayKeySlice. */
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';

export interface KeySlice {
  /** Network of all addresses within tunnels. */
  readonly cidr: string;
  readonly isOwn: boolean;
  /** Sorted by chassis. */
  readonly gateways: readonly GatewayKey[];
}

export interface KeySliceObject extends KeySlice {
  readonly uid: string;
}
