import { externalId, mostNodeAddresses } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { Node } from '../../model/objects.ts';
import { nodePortGroup } from '../../plan/names.ts';
import type { View } from '../../model/view.ts';
import { networkOwner } from './network-owner.ts';
import { nodeRateProblems } from '../../plan/node/rates.ts';

/** What no two nodes should have in common: the name of its port group, and its addresses in canonical text. */
export function nodeTraits(node: Node): readonly string[] {
  return [nodePortGroup(node.name), ...nodeAddresses(node)];
}

function allAddresses({ addresses }: Node): readonly Ip[] {
  const ips = new Map(addresses.flatMap((text) => parseIp(text) ?? []).map((ip) => [formatIp(ip), ip]));
  return [...ips.values()];
}

/** Its InternalIPs as far as they are heeded, once each, in canonical text; what is no address is left out. */
export function nodeAddresses(node: Node): readonly string[] {
  return allAddresses(node).slice(0, mostNodeAddresses).map(formatIp);
}

/** Whether a node has what only one can have. */
export function holds(view: View, node: string, trait: string): boolean {
  return view.holderOf(trait) === node;
}

/** Its addresses that packets go to it by: what has one already goes on having it. */
export function servedAddresses(view: View, node: Node): readonly string[] {
  return nodeAddresses(node).filter(
    (address) => holds(view, node.name, address) && networkOwner(view, address) === undefined,
  );
}

const policyMatch = /^ip[46]\.dst == (\S+)$/;

/** What a row of a node's plan says that the node has, and no other one. */
export function heldBy(table: string, columns: Readonly<Record<string, unknown>>): readonly string[] {
  const { name, match, external_ids: ids } = columns;
  if (table === 'Port_Group') return typeof name === 'string' ? [name] : [];
  if (table === 'Logical_Router_Policy')
    return typeof match === 'string' ? (policyMatch.exec(match)?.slice(1) ?? []) : [];
  if (table !== 'Logical_Switch_Port') return [];
  const withheld = (ids as Readonly<Record<string, unknown>> | undefined)?.[externalId.withheldAddresses];
  return typeof withheld === 'string' ? withheld.split(' ') : [];
}

/** What keeps a node from having all that nodes have. */
export function nodeProblems(view: View, name: string): readonly Problem[] {
  const node = view.nodes.get(name);
  if (node === undefined) return [];
  const problems: Problem[] = [];
  const obstacle = view.addressProblem(`node/${name}`);
  if (obstacle !== undefined) problems.push(obstacle);
  const group = nodePortGroup(name);
  const twin = view.holderOf(group);
  if (twin !== undefined && twin !== name) {
    const message = `node ${name} has the OVN port group ${group} in common with node ${twin}, which had it before: traffic of its pods leaves through ${twin}; give it another name`;
    problems.push({ code: 'NodeNameConflict', message });
  }
  problems.push(...addressProblems(view, node));
  return [...problems, ...nodeRateProblems(node)];
}

function addressProblems(view: View, node: Node): readonly Problem[] {
  const { name } = node;
  const problems: Problem[] = [];
  for (const address of nodeAddresses(node)) {
    const holder = view.holderOf(address);
    const owner = networkOwner(view, address);
    if (owner !== undefined) {
      const message = `InternalIP ${address} of node ${name} is an address of ${owner}, which is in force: pods do not reach the node by it; give the node another address`;
      problems.push({ code: 'NodeAddressConflict', message });
    } else if (holder !== undefined && holder !== name) {
      const message = `InternalIP ${address} of node ${name} is also that of node ${holder}, which had it before: traffic from pods to it goes to ${holder}; correct the address, or delete the node that is gone`;
      problems.push({ code: 'NodeAddressConflict', message });
    }
  }
  const wrong = node.addresses.find((text) => parseIp(text) === undefined);
  if (wrong !== undefined)
    problems.push({
      code: 'NodeAddressInvalid',
      message: `InternalIP '${wrong}' of node ${name} is no IP address: pods cannot reach the node by it`,
    });
  const count = allAddresses(node).length;
  if (count > mostNodeAddresses)
    problems.push({
      code: 'NodeAddressesTooMany',
      message: `node ${name} has ${count} InternalIPs, of which the first ${mostNodeAddresses} are heeded: remove the others`,
    });
  return problems;
}
