/** Bytes that a tunnel between nodes adds to packets of pods. Pure. */
import { familyOf } from './ip.ts';

export type EncapType = 'geneve' | 'vxlan';

/** UDP, tunnel header with OVN's option, inner Ethernet. */
const headers = { geneve: 38, vxlan: 30 } as const;

/** Bytes in front of a pod's IP packet: the outer IP header too, which is that of the tunnel's address. */
export function tunnelOverhead(encapType: EncapType, encapIp: string): number {
  return headers[encapType] + (familyOf(encapIp) === 6 ? 40 : 20);
}
