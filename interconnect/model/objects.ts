/** Kubernetes objects as narrow values. An invalid part is a problem in the value. */
import type {
  GatewayProbe,
  GatewayTunnel,
  GatewayWireGuard,
  InterconnectGatewayStatus,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import type { InterconnectSpec, InterconnectStatus } from '../../lib/api/kinds/interconnect.ts';
import type { TransitSwitchSpec } from '../../lib/api/kinds/transit-switch.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Ip } from '../../lib/net/ip.ts';

/** The one Interconnect that counts. */
export const canonicalName = 'default';

export interface Interconnect {
  readonly uid: string;
  readonly generation: number;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly spec: InterconnectSpec | Problem;
  readonly status: InterconnectStatus;
}

/** The fields that finalizers depend on. */
export interface Life {
  readonly uid: string;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
}

export interface Subnet {
  readonly vpc: string;
  readonly cidrs: readonly Cidr[];
  /** Whether other clusters may know of it. */
  readonly isShared: boolean;
  /** Whether its switch has the load balancers of the VPC. */
  readonly hasLoadBalancers: boolean;
}

export interface Node {
  readonly labels: Readonly<Record<string, string>>;
  /** As its daemon wrote it; undefined before. */
  readonly chassis: string | undefined;
  readonly addresses: readonly Ip[];
  /** Whether it can forward, as far as Kubernetes knows. */
  readonly isReady: boolean;
  /** Its daemon has not reported that Open vSwitch or ovn-controller is down. */
  readonly hasNetwork: boolean;
}

/** An object whose status is compared and written here. */
export interface Report {
  readonly uid: string;
  readonly status: Readonly<Record<string, unknown>>;
}

export interface TransitSwitchObject extends Life, Report {
  readonly generation: number;
  readonly spec: TransitSwitchSpec | Problem;
}

/** On gateways that the agent made: only those are its to remove. */
export const madeByAgent = { 'app.kubernetes.io/managed-by': 'isthmus-interconnect' } as const;

export interface GatewayObject extends Life {
  readonly isMadeByAgent: boolean;
  readonly isDrained: boolean;
  readonly status: InterconnectGatewayStatus;
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
  /** To the other gateways of this cluster. */
  readonly siblingTunnels: readonly GatewayTunnel[];
  /** Absent without encryption. */
  readonly wireGuard?: GatewayWireGuard | undefined;
  /** When the daemon last checked, by the node's clock. */
  readonly checkedAt: string | undefined;
}
