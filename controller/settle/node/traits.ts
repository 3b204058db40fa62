import { externalId } from '../../../lib/api/names.ts';
import { nodeAddresses } from '../../model/node-traits.ts';
import type { Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { networkOwner } from './network-owner.ts';

/** Whether the node is the holder of a trait. */
export function holds(view: View, node: string, trait: string): boolean {
  return view.holderOf(trait) === node;
}

/** Addresses by which packets reach the node. An address that another object already has is left to it. */
export function servedAddresses(view: View, node: Node): readonly string[] {
  return nodeAddresses(node).filter(
    (address) => holds(view, node.name, address) && networkOwner(view, address) === undefined,
  );
}

const policyMatch = /^ip[46]\.dst == (\S+)$/;

/** The traits that a row of a node's plan shows the node to hold. */
export function heldBy(table: string, columns: Readonly<Record<string, unknown>>): readonly string[] {
  const { name, match, external_ids: ids } = columns;
  if (table === 'Port_Group') return typeof name === 'string' ? [name] : [];
  if (table === 'Logical_Router_Policy')
    return typeof match === 'string' ? (policyMatch.exec(match)?.slice(1) ?? []) : [];
  if (table !== 'Logical_Switch_Port') return [];
  const withheld = (ids as Readonly<Record<string, unknown>> | undefined)?.[externalId.withheldAddresses];
  return typeof withheld === 'string' ? withheld.split(' ') : [];
}
