/** The node that has the port of a router outside, for statuses. */
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortName } from '../../settle/external/external-subnets.ts';

/** What a status says of the node that has a port. */
export interface HolderText {
  /** Empty while no node has the port, or while that is not known. */
  readonly node: string;
  /** Since when, in the format of Kubernetes; empty as well. */
  readonly since: string;
}

const pending = 'GatewayPending';
const none: HolderText = { node: '', since: '' };

function nodeOf(view: View, { nodes }: GatewayPort, chassis: string): string {
  const known = nodes.find((one) => one.chassis === chassis)?.node;
  if (known !== undefined) return known;
  // Removed from the port a moment ago.
  for (const { name, annotations } of view.nodes.values()) if (annotations[annotation.chassis] === chassis) return name;
  return chassis;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** What a status says now, from the values of its fields. */
export function shownHolder(node: unknown, since: unknown): HolderText {
  return { node: textOf(node), since: textOf(since) };
}

/** @param shown what the status says now: its time stays as long as its node does, also over a restart */
export function holderText(view: View, port: GatewayPort, shown: HolderText): HolderText {
  if (view.gatewayHolders === undefined) return shown;
  const holder = view.gatewayHolders.get(gatewayPortName(port));
  if (holder === undefined || port.problem !== undefined) return none;
  const node = nodeOf(view, port, holder.chassis);
  return { node, since: shown.node === node && shown.since !== '' ? shown.since : holder.since };
}

/**
 * Why packets to and from addresses of the port get nowhere although its rows are there.
 * @param shown the conditions now: they stay while it is not known which node has the port
 */
export function holderProblem(
  view: View,
  port: GatewayPort | undefined,
  shown: readonly Pick<Condition, 'type' | 'reason'>[],
): Problem | undefined {
  if (port === undefined || port.problem !== undefined) return undefined;
  const name = gatewayPortName(port);
  const isHeld =
    view.gatewayHolders?.has(name) ?? !shown.some(({ type, reason }) => type === 'Ready' && reason === pending);
  if (isHeld) return undefined;
  const message = `no node has the router port ${name}: see that ovn-controller runs on a node that status.externalGateways of Vpc ${port.vpc} lists`;
  return { code: pending, message };
}
