/** A packet that a flow of the integration bridge sent to its controllers. */
export interface PacketIn {
  /** The first 32 bits of the uuid of the logical flow. */
  readonly cookie: number;
  /** Number of the OpenFlow table. */
  readonly table: number;
  /** Numbers of OVN's datapath, and of its ports by which the packet came and leaves as far as that is known there. */
  readonly datapath?: number;
  readonly inPort?: number;
  readonly outPort?: number;
  /** From its Ethernet header on, perhaps without its end. */
  readonly frame: Buffer;
}

/** What a policy judges of a packet. */
export interface PacketHeaders {
  /** `TCP`, `UDP`, `SCTP`, `ICMP`, `ICMPv6` or `IP protocol 47`. */
  readonly protocol: string;
  readonly source: string;
  readonly destination: string;
  /** The destination port; undefined for protocols without ports and for fragments after the first one. */
  readonly port: number | undefined;
  /** Whether it is for several hosts. */
  readonly isMulticast: boolean;
}
