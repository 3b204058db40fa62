/** The MTU of a pod's interface: that of its subnet, as far as tunnels allow it. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Subnet } from '../model/subnet.ts';

/**
 * `nodeMtu` is the MTU inside tunnels of this node, `nicMtu` that of the interface in the provider network: packets of underlay subnets use no
 * tunnel.
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

/** With a larger MTU, pods would send packets that do not fit into tunnels and that nothing fragments; connections would hang. */
export function checkMtu(subnet: Subnet, nodeMtu: number, node: string): Problem | undefined {
  const given = podMtu(subnet, nodeMtu);
  if (subnet.mtu === undefined || subnet.mtu <= given) return undefined;
  return {
    code: 'MtuTooLarge',
    message: `spec.mtu ${subnet.mtu} is more than ${nodeMtu}, which tunnels allow on node ${node}; pods of the subnet there get ${given}: lower spec.mtu or raise the MTU of the nodes' network`,
  };
}
