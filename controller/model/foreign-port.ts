import type { Ip } from '../../lib/net/ip.ts';

/** The addresses in use by a foreign port, or by the router in a switch. */
export interface ForeignPort {
  /** The switch, which has the name of its subnet. */
  readonly subnet: string;
  readonly addresses: readonly Ip[];
  readonly macs: readonly string[];
}
