/** Packet sizes between gateways, in bytes. Pure. */
import { tunnelOverhead } from '../../lib/net/tunnel-overhead.ts';

/**
 * By default pods have the packet size of the underlay less the tunnel overhead, so packets of the underlay's size must
 * pass.
 */
const usualMtu = 1500;
/** What WireGuard adds to a packet, with an outer header of IPv6: wireguard.com/papers/wireguard.pdf, section 5.4.6. */
const wireGuardOverhead = 80;

/** `0` in `Interconnect.spec.mtu` is what pods need. */
export function wantedMtuOf(specMtu: number): number {
  return specMtu === 0 ? usualMtu : specMtu;
}

/** The largest IP packet of a pod that an encrypted tunnel carries. `inner`: an address within tunnels. */
export function encryptedMtuOf(specMtu: number, inner: string): number {
  return wantedMtuOf(specMtu) - wireGuardOverhead - tunnelOverhead('geneve', inner);
}
