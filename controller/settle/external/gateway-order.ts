/**
 * The order of the nodes that may hold a router's port in a Subnet outside. In: the nodes, the order until now, and the chassis that has the
 * port. Out: the nodes, the first one first. Rules: the node that has the port is the first, so that one that comes back takes nothing; the
 * port moves only if its node is to give it up, and then to a node that is alive; a node that is to give it up leaves the order once another
 * has the port. Pure.
 */
import { annotation, label, providerNetworkKey } from '../../../lib/api/names.ts';
import { digestName } from '../../../lib/ovn/digest-name.ts';
import type { Node } from '../../model/objects.ts';
import type { GatewayNode } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { obstacleOf } from '../gateway/choice.ts';
import { gatewayPortName, mayHold } from './external-subnets.ts';

/** The nodes of a port; more would be BFD sessions without any use. */
const mostNodes = 5;

export interface OrderRequest {
  readonly vpc: string;
  readonly subnet: string;
  /** The ProviderNetwork of the Subnet. */
  readonly provider: string;
  /** Chassis, the first one first; empty for a new port. */
  readonly before: readonly string[];
}

interface Candidate extends GatewayNode {
  /** It is a gateway no longer; it is still there because it has the port. */
  readonly isLeaving: boolean;
  /** It is to give up the port. */
  readonly isDraining: boolean;
  /** As far as is known, it can take the port at once. */
  readonly isAlive: boolean;
}

/** Whether the node has the bridge of a ProviderNetwork, as its daemon reports. */
export function hasBridge(node: Node | undefined, provider: string): boolean {
  return node?.labels[providerNetworkKey(provider, 'ready')] === 'true';
}

function chassisOf(node: Node): string {
  return node.annotations[annotation.chassis] ?? '';
}

/** In the order of a new port: each VPC has one of its own, so that nodes share the load. */
function candidatesOf(
  view: View,
  { vpc, subnet, provider, before }: OrderRequest,
  holder: string | undefined,
): readonly Candidate[] {
  const isMeant = mayHold(view, vpc, subnet);
  const found = [...view.nodes.values()].flatMap((node): readonly Candidate[] => {
    const chassis = chassisOf(node);
    const isChosen = isMeant(node);
    const isLeaving = !isChosen && chassis === holder && before.includes(chassis);
    if (chassis === '' || !hasBridge(node, provider) || !(isChosen || isLeaving)) return [];
    const isDraining = isLeaving || node.isCordoned;
    return [{ node: node.name, chassis, isLeaving, isDraining, isAlive: obstacleOf(view, node) === undefined }];
  });
  const rank = ({ node }: Candidate): string => digestName(vpc, node);
  const sorted = found.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const known = new Set<string>();
  const each = sorted.filter(({ chassis }) => !known.has(chassis) && known.add(chassis));
  return each.some(({ isLeaving }) => !isLeaving) ? each : [];
}

/** The node that shall have the port. */
function firstOf(order: readonly Candidate[], holder: string | undefined): Candidate | undefined {
  const now = order.find(({ chassis }) => chassis === holder) ?? order[0];
  if (now?.isDraining !== true) return now;
  const next = order.find(({ isDraining, isAlive }) => isAlive && !isDraining);
  return next ?? now;
}

export function orderNodes(view: View, request: OrderRequest): readonly GatewayNode[] {
  const holder = view.gatewayHolders?.get(gatewayPortName(request))?.chassis;
  const candidates = candidatesOf(view, request, holder);
  const kept = request.before.flatMap((chassis) => candidates.find((one) => one.chassis === chassis) ?? []);
  const known = [...kept, ...candidates.filter((one) => !kept.includes(one))];
  const first = firstOf(known, holder);
  if (first === undefined) return [];
  const rest = known.filter((one) => one !== first);
  const staying = rest.filter(({ isDraining }) => !isDraining);
  const draining = rest.filter(({ isDraining }) => isDraining);
  // A node that has the port is never cut off, although it is to give it up.
  const others = [...staying, ...draining];
  const needed = others.filter(({ chassis }) => chassis === holder);
  const cut = others.slice(0, mostNodes - 1 - needed.length);
  const chosen = [first, ...cut, ...needed.filter((one) => !cut.includes(one))];
  return chosen.map(({ node, chassis }) => ({ node, chassis }));
}

/** The properties of a node that gateway ports depend on. */
export function gatewayNodeText(node: Node | undefined): string {
  if (node === undefined) return '';
  const ready = Object.keys(node.labels).filter(
    (key) => key.endsWith(providerNetworkKey('', 'ready')) && node.labels[key] === 'true',
  );
  const { isReady, isCordoned } = node;
  return JSON.stringify([
    node.labels[label.externalGateway] ?? '',
    chassisOf(node),
    ready.sort(),
    // Of the many other nodes no change matters.
    ...(ready.length > 0 ? [isReady, isCordoned] : []),
  ]);
}
