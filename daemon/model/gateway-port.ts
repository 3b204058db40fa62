/** A router's port in a Subnet outside, as the southbound database has it. */
export interface GatewayPort {
  /** Of the port that stands for it on its nodes: `cr-<vpc>-<subnet>`. */
  readonly name: string;
  /** Whether this node has it. */
  readonly isHere: boolean;
  readonly mac: string;
  /** What it answers for: its own addresses first, then those of translations and load balancers. */
  readonly addresses: readonly OwnedAddress[];
  /** Port of OVN by which its network reaches the bridge of a provider network; undefined if it has none. */
  readonly localnet: string | undefined;
  /** 1 to 4094; undefined if frames have no tag. */
  readonly vlan: number | undefined;
}

export interface OwnedAddress {
  readonly address: string;
  /** Whether it is the router's own: then a host may use it as its gateway. */
  readonly isRouter: boolean;
}
