/**
 * A match on packets, in the terms of OpenFlow; an absent field matches anything. Of a fragmented packet, the first fragment has
 * ports and types as far as it reaches, and 0 if it ends before them.
 */
export interface PacketMatch {
  readonly ethernetDestination?: { readonly mac: string; readonly mask: string };
  readonly isTagged?: true;
  readonly etherType?: number;
  readonly fragment?: 'any' | 'first';
  readonly ipProtocol?: number;
  readonly ipv4Source?: string;
  readonly ipv4Destination?: { readonly address: string; readonly mask: string };
  readonly ipv6Source?: { readonly address: string; readonly mask: string };
  readonly ipv6Destination?: { readonly address: string; readonly mask: string };
  readonly udpDestination?: number;
  readonly icmp4Type?: number;
  readonly arpSender?: string;
  readonly icmp6Type?: number;
  readonly neighbourTarget?: string;
}

/** What flows do with the packets of a port. */
export interface PortRules {
  readonly drops: readonly PacketMatch[];
  /** Packets of which the daemon gets a copy, and that go on as others do. */
  readonly copies: readonly PacketMatch[];
}
