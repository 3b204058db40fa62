/** What a tunnel between nodes needs: bytes in packets of pods, and a port. Pure. */
import { familyOf } from './ip.ts';

/**
 * Types of tunnels that a node offers to the others. Two nodes use Geneve if both offer it. With both types, nodes change from one
 * to the other one after the other.
 */
export const encapTypes = ['geneve', 'geneve,vxlan', 'vxlan'] as const;
export type EncapType = (typeof encapTypes)[number];
export type TunnelType = 'geneve' | 'vxlan';

/** UDP, tunnel header with OVN's option, inner Ethernet. */
const headers = { geneve: 38, vxlan: 30 } as const;

/** UDP ports that tunnels of each type end at. */
export const tunnelPorts = { geneve: 6081, vxlan: 4789 } as const;

export function tunnelTypesOf(encapType: EncapType): readonly TunnelType[] {
  return encapType === 'geneve,vxlan' ? ['geneve', 'vxlan'] : [encapType];
}

/** Whether nodes with the one have tunnels to nodes with the other. */
export function haveTunnels(one: EncapType, other: EncapType): boolean {
  return tunnelTypesOf(one).some((type) => tunnelTypesOf(other).includes(type));
}

/** Whether keys of OVN have twelve bits: VXLAN carries no more. */
export function hasShortKeys(encapType: EncapType): boolean {
  return tunnelTypesOf(encapType).includes('vxlan');
}

/**
 * Bytes in front of a pod's IP packet: the outer IP header too, which is that of the tunnel's address. With several types, those of the
 * largest header.
 */
export function tunnelOverhead(encapType: EncapType, encapIp: string): number {
  const header = Math.max(...tunnelTypesOf(encapType).map((type) => headers[type]));
  return header + (familyOf(encapIp) === 6 ? 40 : 20);
}
