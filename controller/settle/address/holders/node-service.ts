/** The service addresses of nodes: a second address of each node's port in the join subnet. */
import { annotation, joinSubnet } from '../../../../lib/api/names.ts';
import { byAge } from '../../../../lib/desired/rights.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import type { Node } from '../../../model/objects.ts';
import { nodeServicePort } from '../../../model/ovn-names.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';
import { parseAddresses, type PortRequest } from '../port-request.ts';
import type { HolderKind } from './kind.ts';

/** The former addresses of a node, if they are free. A kubelet can write the annotation of its Node, so it is a request and not a record. */
function formerAddresses(view: View, { name, annotations }: Node): Pick<PortRequest, 'addresses'> {
  const port = nodeServicePort(name);
  const addresses = parseAddresses(annotations[annotation.serviceAddress] ?? '') ?? [];
  const isFree = addresses.every(({ family, value }) => {
    const pool = view.pool(joinSubnet)?.pool(family);
    return pool !== undefined && pool.refusal(port, value) === undefined;
  });
  return isFree && addresses.length > 0 ? { addresses } : {};
}

function nodeClaimant(view: View, node: Node): Claimant {
  const { uid, createdMs, name } = node;
  const request = { value: { subnets: [joinSubnet], ...formerAddresses(view, node) } };
  const want = { port: nodeServicePort(name), interface: defaultInterface, request };
  return { uid, createdMs, name, holder: uid, wants: [want] };
}

export const nodeServiceHolder: HolderKind = {
  prefix: 'node-service',
  all: (view) => view.nodes.keys(),
  concerns(change, view) {
    if (change.kind === 'nodes') return [change.name];
    return change.kind === 'verdicts' && change.name === joinSubnet ? view.nodes.keys() : [];
  },
  claimant(view, name) {
    const node = view.nodes.get(name);
    return node && nodeClaimant(view, node);
  },
  *recorded(view, rows) {
    for (const { name } of [...view.nodes.values()].sort(byAge)) {
      const port = nodeServicePort(name);
      yield { name, port, record: rows.get(port) };
    }
  },
  followsSubnet: true,
  requestsInTurn: true,
};
