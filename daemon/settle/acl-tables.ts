/**
 * Distinguishes the flows of an ACL from others with the same cookie. A cookie is only the beginning of a uuid, and all that ovn-controller makes flows of has
 * one: logical flows of other stages, ports, datapaths. Pure.
 */
import type { AclFlow } from '../model/acl-flow.ts';
import type { FlowCount } from '../model/flow-count.ts';
import type { PacketIn } from '../model/packet-in.ts';

/** OpenFlow table of the first stage of the ingress pipeline, in all versions of OVN. */
const firstOfIngress = 8;

/** The flows that are in the OpenFlow table of the stage of their ACL. */
export function inTableOfAcl(flows: readonly FlowCount[], acls: ReadonlyMap<number, AclFlow>): readonly FlowCount[] {
  const first = { ingress: firstOfIngress, egress: firstOfEgress(flows, acls) };
  return flows.filter(({ cookie, table }) => {
    const acl = acls.get(cookie);
    return acl !== undefined && table === first[acl.pipeline] + acl.stage;
  });
}

/** Whether a packet comes from the stage of an ACL. In the egress pipeline, whose first table is not known without its flows, nothing but ACLs sends packets to controllers. */
export function isInTableOfAcl({ table }: Pick<PacketIn, 'table'>, { pipeline, stage }: AclFlow): boolean {
  return pipeline === 'egress' ? table > firstOfIngress + stage : table === firstOfIngress + stage;
}

/** Versions of OVN differ in that of the egress pipeline: it is the one by which most ACLs have flows. NaN without any. */
function firstOfEgress(flows: readonly FlowCount[], acls: ReadonlyMap<number, AclFlow>): number {
  const cookies = new Map<number, Set<number>>();
  for (const { cookie, table } of flows) {
    const acl = acls.get(cookie);
    if (acl?.pipeline !== 'egress') continue;
    const first = table - acl.stage;
    const ofFirst = cookies.get(first);
    if (ofFirst === undefined) cookies.set(first, new Set([cookie]));
    else ofFirst.add(cookie);
  }
  let found = NaN;
  for (const [first, { size }] of cookies) if (size > (cookies.get(found)?.size ?? 0)) found = first;
  return found;
}
