/** The claim of a node on an address in the join subnet; a node has one for each of its uses. */
import { joinSubnet } from '../../../../lib/api/names.ts';
import type { Ip } from '../../../../lib/net/ip.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import type { Node } from '../../../model/objects.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';

/** @param former addresses that the node gets again if all of them are free */
export function joinClaimant(view: View, node: Node, port: string, former: readonly Ip[]): Claimant {
  const { uid, createdMs, name } = node;
  const isFree = former.every(({ family, value }) => {
    const pool = view.pool(joinSubnet)?.pool(family);
    return pool !== undefined && pool.refusal(port, value) === undefined;
  });
  const request = { subnets: [joinSubnet], ...(isFree && former.length > 0 && { addresses: former }) };
  const want = { port, interface: defaultInterface, request: { value: request } };
  return { uid, createdMs, name, holder: uid, wants: [want] };
}
