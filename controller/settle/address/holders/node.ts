/** Nodes: their ports in the join subnet. */
import { joinSubnet, nodePortName } from '../../../../lib/api/names.ts';
import { byAge } from '../../../../lib/desired/rights.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import type { Node, IpObject } from '../../../model/objects.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';
import type { PortRequest } from '../port-request.ts';
import { formerAddressOf, recordOfNode } from '../records.ts';
import type { HolderKind } from './kind.ts';

/** The former address of a node, if it is free: a node that is registered anew keeps its address. */
function formerPlace(view: View, node: Node): Pick<PortRequest, 'addresses'> {
  const port = nodePortName(node.name);
  const { addresses = [] } = recordOfNode(view.ips.get(port), undefined) ?? formerAddressOf(node) ?? {};
  const isFree = addresses.every(({ family, value }) => {
    const pool = view.pool(joinSubnet)?.pool(family);
    return pool !== undefined && pool.refusal(port, value) === undefined;
  });
  return isFree && addresses.length > 0 ? { addresses } : {};
}

function nodeClaimant(view: View, node: Node): Claimant {
  const { uid, createdMs, name } = node;
  const request = { value: { subnets: [joinSubnet], ...formerPlace(view, node) } };
  const want = { port: nodePortName(name), interface: defaultInterface, request };
  return { uid, createdMs, name, holder: uid, wants: [want] };
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
    return node && nodeClaimant(view, node);
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
