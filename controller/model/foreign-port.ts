import type { Ip } from '../../lib/net/ip.ts';

/** What a port of the northbound database uses that this room did not make, or the router in one of its switches. */
export interface ForeignPort {
  /** The switch, which has the name of its subnet. */
  readonly subnet: string;
  readonly addresses: readonly Ip[];
  readonly macs: readonly string[];
}
