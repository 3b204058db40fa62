import type { Problem } from '../../../lib/desired/problem.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import { byAge } from '../../state/objects.ts';
import type { Node } from '../../state/objects.ts';
import { nodePortGroup } from '../names.ts';
import type { View } from '../view.ts';
import { nodeRateProblems } from './rates.ts';

/** What no two nodes should have in common: the name of its port group, and its addresses in canonical text. */
export function nodeTraits(node: Node): readonly string[] {
  return [nodePortGroup(node.name), ...nodeAddresses(node)];
}

/** Its InternalIPs, once each, in canonical text; what is no address is left out. */
export function nodeAddresses({ addresses }: Node): readonly string[] {
  const ips = addresses.flatMap((text) => parseIp(text) ?? []);
  return [...new Set(ips.map(formatIp))];
}

/** Of nodes that have something in common the oldest has it. */
export function holderOf(view: View, trait: string): Node | undefined {
  const nodes = [...view.nodesWith(trait)].flatMap((name) => view.nodes.get(name) ?? []);
  return nodes.sort(byAge)[0];
}

/** What keeps a node from having all that nodes have. */
export function nodeProblems(view: View, name: string): readonly Problem[] {
  const node = view.nodes.get(name);
  if (node === undefined) return [];
  const problems: Problem[] = [];
  const obstacle = view.addressProblem(`node/${name}`);
  if (obstacle !== undefined) problems.push(obstacle);
  const group = nodePortGroup(name);
  const twin = holderOf(view, group);
  if (twin !== undefined && twin.name !== name) {
    const message = `node ${name} has the OVN port group ${group} in common with node ${twin.name}, which is older: traffic of its pods leaves through ${twin.name}; give it another name`;
    problems.push({ code: 'NodeNameConflict', message });
  }
  for (const address of nodeAddresses(node)) {
    const holder = holderOf(view, address);
    if (holder === undefined || holder.name === name) continue;
    const message = `InternalIP ${address} of node ${name} is also that of node ${holder.name}, which is older: traffic from pods to it goes to ${holder.name}; correct the address, or delete the node that is gone`;
    problems.push({ code: 'NodeAddressConflict', message });
  }
  const wrong = node.addresses.find((text) => parseIp(text) === undefined);
  if (wrong !== undefined)
    problems.push({
      code: 'NodeAddressInvalid',
      message: `InternalIP '${wrong}' of node ${name} is no IP address: pods cannot reach the node by it`,
    });
  return [...problems, ...nodeRateProblems(node)];
}
