/** The MTU of a pod's interface: its subnet's, where tunnels leave so much. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Subnet } from '../model/subnet.ts';

/**
 * `nodeMtu` is what a tunnel leaves on this node, `nicMtu` that of the interface in the provider network: an underlay
 * subnet's packets go through no tunnel.
 */
export function podMtu(
  subnet: Pick<Subnet, 'mtu' | 'isOverlay'> | undefined,
  nodeMtu: number,
  nicMtu?: number,
): number {
  const wanted = subnet?.mtu;
  if (subnet?.isOverlay !== false) return Math.min(wanted ?? nodeMtu, nodeMtu);
  return Math.min(wanted ?? nicMtu ?? nodeMtu, nicMtu ?? Infinity);
}

/** A larger MTU would let pods send what no tunnel carries: nothing fragments it, connections would hang. */
export function checkMtu(subnet: Subnet, nodeMtu: number, node: string): Problem | undefined {
  const given = podMtu(subnet, nodeMtu);
  if (subnet.mtu === undefined || subnet.mtu <= given) return undefined;
  return {
    code: 'MtuTooLarge',
    message: `spec.mtu ${subnet.mtu} is more than the ${nodeMtu} a tunnel leaves on node ${node}, and its pods there get ${given}: lower spec.mtu or raise the MTU of the nodes' network`,
  };
}
