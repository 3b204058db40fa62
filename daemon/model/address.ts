/** Addresses of an interface and the routes that follow from them. All of them are checked, whatever a user wrote. */

export interface InterfaceAddress {
  readonly ip: string;
  /** Prefix length of the subnet. */
  readonly prefix: number;
  /** Absent on networks without a gateway. */
  readonly gateway: string | undefined;
}

/** The addresses that the controller has allocated to an interface. */
export interface InterfaceNetwork {
  readonly mac: string;
  /** At most one per family, IPv4 first. */
  readonly addresses: readonly InterfaceAddress[];
  /** CIDRs of the subnet: `10.16.0.0/16`. */
  readonly networks: readonly string[];
  readonly subnet: string;
}

export interface Route {
  /** `10.9.0.0/16`; `0.0.0.0/0` or `::/0` for the default route. */
  readonly destination: string;
  readonly gateway: string;
}
