/** The service addresses of nodes: a second address of each node's port in the join subnet. */
import { annotation, joinSubnet } from '../../../../lib/api/names.ts';
import { byAge } from '../../../../lib/desired/rights.ts';
import type { Ip } from '../../../../lib/net/ip.ts';
import type { Node } from '../../../model/objects.ts';
import { nodeServicePort } from '../../../model/ovn-names.ts';
import { parseAddresses } from '../port-request.ts';
import { joinClaimant } from './join.ts';
import type { HolderKind } from './kind.ts';

/** The former addresses of a node. A kubelet can write the annotation of its Node, so it is a request and not a record. */
function formerAddresses({ annotations }: Node): readonly Ip[] {
  return parseAddresses(annotations[annotation.serviceAddress] ?? '') ?? [];
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
    return node && joinClaimant(view, node, nodeServicePort(name), formerAddresses(node));
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
