import { hash48 } from '../../model/hash48.ts';

/** First octet of addresses by which nodes ask; ports, routers and DHCP servers have others. */
const space = '12';

/** The first four bytes of the addresses by which a node asks in VLANs: locally administered, and the same at every start. Pure. */
export function probeMacPrefix(nodeUid: string): string {
  return [space, ...(hash48(`probe/${nodeUid}`).match(/../g) ?? []).slice(0, 3)].join(':');
}
