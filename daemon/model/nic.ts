/** Network interfaces of the node, as the kernel has them, and the steps that move their addresses and routes. */

/** An address of an interface, with all that is needed to add it to another interface. */
export interface NicAddress {
  readonly address: string;
  readonly prefix: number;
  /** The other end of a point-to-point link. */
  readonly peer?: string;
  readonly broadcast?: string;
  /** rt_scope. */
  readonly scope: number;
  /** The kernel makes no route for it. */
  readonly isRouteless?: true;
  /** The node does not choose it as a source address. */
  readonly isDeprecated?: true;
  /** Metric of the route that the kernel makes for it. */
  readonly metric?: number;
}

/** A route over an interface, with all that is needed to add it over another interface. */
export interface NicRoute {
  /** `10.16.0.0/16`; `0.0.0.0/0` or `::/0` for the default route. */
  readonly destination: string;
  readonly gateway?: string;
  readonly source?: string;
  readonly table: number;
  readonly protocol: number;
  readonly scope: number;
  readonly tos: number;
  readonly metric?: number;
  /** The gateway counts as a neighbour, whatever the addresses say. */
  readonly isOnlink?: true;
  /** RTA_METRICS, RTA_VIA and RTA_PREF as the kernel has them, in hexadecimal, by number. */
  readonly extras?: Readonly<Record<string, string>>;
}

export interface Nic {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  /** Bytes. */
  readonly mtu: number;
  /** Administratively up. */
  readonly isUp: boolean;
  /** Up, and its cable or peer has a carrier. */
  readonly hasLink: boolean;
  readonly isLoopback: boolean;
  /** `veth`, `vlan`, `bridge` …; empty for hardware. */
  readonly kind: string;
  /** Name of the bridge or bond that it belongs to. */
  readonly master: string | undefined;
  /** Only for VLAN interfaces: the VLAN id and the name of the parent interface. */
  readonly vlan: { readonly id: number; readonly parent: string } | undefined;
  /** Without link-local addresses. */
  readonly addresses: readonly NicAddress[];
  /** In the kernel's order, without the routes that the kernel makes for addresses. */
  readonly routes: readonly NicRoute[];
  /** Destinations of multipath routes with a next hop on this interface. */
  readonly multipath: readonly string[];
}

/** The interfaces of the node by name. */
export type NicsByName = ReadonlyMap<string, Nic>;

export type NicStep =
  | { readonly do: 'addAddress' | 'deleteAddress'; readonly device: string; readonly address: NicAddress }
  | { readonly do: 'addRoute' | 'deleteRoute'; readonly device: string; readonly route: NicRoute };
