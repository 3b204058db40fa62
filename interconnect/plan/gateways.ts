/**
 * Which chassis hold the transit router port, in which order. Pure.
 *
 * OVN moves the port to the highest priority that is alive, and back as soon as a higher one returns; the way back
 * costs more traffic than the failover did. So whoever holds the port has the highest priority: a gateway that
 * returns takes its place at the end of the order it had.
 */
import type { MemberState } from '../link/messages.ts';
import { transitRouterPort, type GatewayNode, type LocalView } from '../state/local.ts';

export interface GatewayPriority {
  readonly chassis: string;
  readonly priority: number;
}

const highest = 1000;

export interface PortState {
  /** The Gateway_Chassis of the port as they are in the database, in any order. */
  readonly present: readonly GatewayPriority[];
  /** Chassis that holds the port; empty while none does. */
  readonly active: string;
}

export function orderGateways(
  nodes: readonly GatewayNode[],
  { present, active }: PortState,
): readonly GatewayPriority[] {
  const wanted = new Set(nodes.map(({ chassis }) => chassis));
  const known = [...present].sort((a, b) => b.priority - a.priority || (a.chassis < b.chassis ? -1 : 1));
  const order = new Set(wanted.has(active) ? [active] : []);
  for (const { chassis } of known) if (wanted.has(chassis)) order.add(chassis);
  for (const { chassis } of [...nodes].sort((a, b) => (a.node < b.node ? -1 : 1))) order.add(chassis);
  return [...order].map((chassis, index) => ({ chassis, priority: highest - index }));
}

/** What the hub is told of this cluster. */
export function memberState(local: LocalView, active: string): Omit<MemberState, 'revision'> {
  const gateways = local.gatewayNodes.flatMap(({ chassis }) => {
    const found = local.chassis.get(chassis);
    return found?.isInterconnect === true && found.gateway.encaps.length > 0 ? [found.gateway] : [];
  });
  const isKnown = gateways.some(({ chassis }) => chassis === active);
  return { gateways, activeGateway: isKnown ? active : '', prefixes: local.prefixes, routerId: local.routerId };
}

/** The SB port that OVN binds to the chassis which forwards for the transit router port. */
export function redirectPort(cluster: string, network: string): string {
  return `cr-${transitRouterPort(cluster, network)}`;
}
