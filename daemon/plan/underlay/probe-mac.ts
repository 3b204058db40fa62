import { hash48 } from '../../model/hash48.ts';

/** First octet of the sender addresses of probes; ports, routers and DHCP servers have others. */
const space = '12';

/** The first four bytes of the sender addresses of a node's probes in VLANs: locally administered, and the same at every start. Pure. */
export function probeMacPrefix(nodeUid: string): string {
  return [space, ...(hash48(`probe/${nodeUid}`).match(/../g) ?? []).slice(0, 3)].join(':');
}
