/** Nodes: their ports in the join subnet. */
import { joinSubnet, nodePortName } from '../../../../lib/api/names.ts';
import { byAge } from '../../../../lib/desired/rights.ts';
import type { Ip } from '../../../../lib/net/ip.ts';
import type { Node, IpObject } from '../../../model/objects.ts';
import type { View } from '../../../model/view.ts';
import { formerAddressOf, recordOfNode } from '../records.ts';
import { joinClaimant } from './join.ts';
import type { HolderKind } from './kind.ts';

/** The former addresses of a node: a node that is registered anew keeps them. */
function formerAddresses(view: View, node: Node): readonly Ip[] {
  const record = recordOfNode(view.ips.get(nodePortName(node.name)), undefined) ?? formerAddressOf(node);
  return record?.addresses ?? [];
}

/** The node that an IP object names; the node need not exist. */
function nodeOf(ip: IpObject | undefined): readonly string[] {
  const { podName = '', namespace = '' } = ip?.spec ?? {};
  return podName === '' || namespace !== '' ? [] : [podName];
}

export const nodeHolder: HolderKind = {
  prefix: 'node',
  all: (view) => new Set([...view.nodes.keys(), ...[...view.ips.values()].flatMap(nodeOf)]),
  concerns(change, view) {
    if (change.kind === 'nodes') return [change.name];
    if (change.kind === 'ips') return nodeOf(change.after ?? change.before);
    return change.kind === 'verdicts' && change.name === joinSubnet ? view.nodes.keys() : [];
  },
  claimant(view, name) {
    const node = view.nodes.get(name);
    return node && joinClaimant(view, node, nodePortName(name), formerAddresses(view, node));
  },
  *recorded(view, rows) {
    for (const { name } of [...view.nodes.values()].sort(byAge)) {
      const port = nodePortName(name);
      yield { name, port, record: recordOfNode(view.ips.get(port), rows.get(port)) };
    }
  },
  ipSubject: (_, name) => ({ podName: name, namespace: '', nodeName: name, podType: '' }),
  followsSubnet: true,
  requestsInTurn: true,
  notifies: 'gateways',
};
