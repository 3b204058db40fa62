/** The MTU of physical networks, as nodes report it for their interfaces. Pure. */
import { markedNetwork, providerNetworkKey } from '../../../lib/api/names.ts';
import type { Change } from '../../model/change.ts';
import type { Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** MTU of Ethernet, in bytes, used while no node has reported one. */
const commonMtu = 1500;
/** The least MTU of an interface that daemons accept. A smaller value was not written by a daemon. */
const leastMtu = 1280;

function mtuReportedBy(node: Node | undefined, network: string): number | undefined {
  const text = node?.labels[providerNetworkKey(network, 'mtu')] ?? '';
  const mtu = /^\d{4,5}$/.test(text) ? Number(text) : 0;
  return mtu < leastMtu ? undefined : mtu;
}

function leastOf(nodes: Iterable<Node>, network: string): number {
  let least: number | undefined;
  for (const node of nodes) {
    const mtu = mtuReportedBy(node, network);
    if (mtu !== undefined && (least === undefined || mtu < least)) least = mtu;
  }
  return least ?? commonMtu;
}

/** The MTU in bytes that every node of the subnet's network supports; undefined for an overlay subnet. */
export function physicalMtu(view: View, subnet: string): number | undefined {
  const network = view.verdicts.get(subnet)?.net?.underlay?.provider;
  return network === undefined ? undefined : leastOf(view.nodes.values(), network);
}

/** Subnets whose MTU changed with the change of a node. */
export function* subnetsOfOtherMtu(change: Change, view: View): Generator<string> {
  if (change.kind !== 'nodes') return;
  const { name, before, after } = change;
  const marked = [before, after].flatMap((node) => Object.keys(node?.labels ?? {}));
  const networks = new Set(marked.flatMap((key) => markedNetwork(key) ?? []));
  const changed = [...networks].filter((network) => mtuReportedBy(before, network) !== mtuReportedBy(after, network));
  if (changed.length === 0) return;
  const others = [...view.nodes.values()].filter((node) => node.name !== name);
  const least = (node: Node | undefined, network: string): number =>
    leastOf(node === undefined ? others : [...others, node], network);
  const other = new Set(changed.filter((network) => least(before, network) !== least(after, network)));
  for (const subnet of view.subnetsInVlans)
    if (other.has(view.verdicts.get(subnet)?.net?.underlay?.provider ?? '')) yield subnet;
}
