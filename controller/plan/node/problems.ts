import { mostNodeAddresses } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { allAddresses, nodeAddresses } from '../../model/node-traits.ts';
import type { Node } from '../../model/objects.ts';
import { nodePortGroup } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { networkOwner } from '../../settle/node/network-owner.ts';
import { nodeRateProblems } from './rates.ts';

/** Problems that keep a node from being fully served. */
export function nodeProblems(view: View, name: string): readonly Problem[] {
  const node = view.nodes.get(name);
  if (node === undefined) return [];
  const problems: Problem[] = [];
  const obstacle = view.addressProblem(`node/${name}`);
  if (obstacle !== undefined) problems.push(obstacle);
  const unserved = view.addressProblem(`node-service/${name}`);
  if (unserved !== undefined && obstacle === undefined) {
    const message = `node ${name} has no service address, the source of connections from outside of the cluster to endpoints on other nodes: ${unserved.message}`;
    problems.push({ code: unserved.code, message });
  }
  const group = nodePortGroup(name);
  const twin = view.holderOf(group);
  if (twin !== undefined && twin !== name) {
    const message = `node ${name} has the same OVN port group name ${group} as node ${twin}, which had it first: traffic of its pods leaves through ${twin}; rename the node`;
    problems.push({ code: 'NodeNameConflict', message });
  }
  const cut = view.tunnels.problem(name);
  if (cut !== undefined) problems.push(cut);
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
      const message = `InternalIP ${address} of node ${name} is an address of ${owner}, which is in force: pods cannot reach the node at it; give the node another address`;
      problems.push({ code: 'NodeAddressConflict', message });
    } else if (holder !== undefined && holder !== name) {
      const message = `InternalIP ${address} of node ${name} is also the address of node ${holder}, which had it first: traffic from pods to this address goes to ${holder}; correct the address, or delete the node that no longer exists`;
      problems.push({ code: 'NodeAddressConflict', message });
    }
  }
  const wrong = node.addresses.find((text) => parseIp(text) === undefined);
  if (wrong !== undefined)
    problems.push({
      code: 'NodeAddressInvalid',
      message: `InternalIP '${wrong}' of node ${name} is not an IP address: pods cannot reach the node at it`,
    });
  const count = allAddresses(node).length;
  if (count > mostNodeAddresses)
    problems.push({
      code: 'NodeAddressesTooMany',
      message: `node ${name} has ${count} InternalIPs, but only the first ${mostNodeAddresses} are used: remove the others`,
    });
  return problems;
}
