/** The step for the gateways of one cluster: whether the live gateways reach each other. */
import { isTunnelDown, type GatewayTunnel } from '../../../lib/api/kinds/interconnect-gateway.ts';
import { plural } from '../../model/units.ts';
import { falseCondition, type Gateway } from '../../model/snapshot.ts';
import { usableGateways } from './gateways.ts';
import { cause, failedIf, type Cause, type Outcome, type Side } from './step.ts';

/** Reason of GatewaysReady, and code of the cause. */
export const cutOff = 'GatewaysCutOff';

export function checkSiblings({ near }: Side): Outcome | undefined {
  const gateways = usableGateways(near);
  const tunnels = gateways.flatMap(({ status }) => status.siblingTunnels ?? []);
  const causes = gateways.flatMap((a, index) => gateways.slice(index + 1).flatMap((b) => cutBetween(a, b)));
  const condition = falseCondition(near, 'GatewaysReady');
  if (causes.length === 0 && condition?.reason === cutOff)
    return failedIf(
      [cause(cutOff, condition.message ?? 'GatewaysReady is False', 'let udp 6081 pass between them')],
      '',
    );
  if (causes.length === 0 && tunnels.length === 0) return undefined;
  return failedIf(causes, `gateways reach each other (${plural(tunnels.length, 'tunnel')})`);
}

function cutBetween(a: Gateway, b: Gateway): readonly Cause[] {
  const [there, back] = [tunnelTo(a, b), tunnelTo(b, a)];
  if (!isTunnelDown(there?.state) || !isTunnelDown(back?.state) || !hearsSomebody(a) || !hearsSomebody(b)) return [];
  const [from, to] = [nameOf(a), nameOf(b)];
  const message = `gateways ${from} and ${to} of this cluster are running but do not receive packets from each other${directionOf(there, back, [from, to])}: neither replaces the other, and pods on one cannot reach pods on the other`;
  return [cause(cutOff, message, `let udp 6081 pass both ways between ${from} and ${to}`)];
}

/** A gateway in state `init` hears the other report that it hears nothing. */
function directionOf(
  there: GatewayTunnel | undefined,
  back: GatewayTunnel | undefined,
  [a, b]: readonly [string, string],
): string {
  if (there?.state === back?.state) return '';
  return there?.state === 'init' ? ` (nothing from ${a} arrives at ${b})` : ` (nothing from ${b} arrives at ${a})`;
}

function tunnelTo({ status }: Gateway, other: Gateway): GatewayTunnel | undefined {
  return status.siblingTunnels?.find(({ chassis }) => chassis === other.status.chassis);
}

function hearsSomebody({ status }: Gateway): boolean {
  return [...(status.tunnels ?? []), ...(status.siblingTunnels ?? [])].some(({ state }) => state === 'up');
}

function nameOf({ node, status }: Gateway): string {
  return `${node} (${status.address ?? 'no tunnel address'})`;
}
