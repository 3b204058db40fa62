/** Routes of the kernel → lifelines of the node: the networks of its links and the next hops of its own routes. Pure. */
import { isLinkLocal, parseIp } from '../net/ip.ts';
import { bgpProtocol, mainTable, type MultipathRoute } from './multipath.ts';

export interface NodeNetwork {
  /** Networks that are on links of the node. */
  readonly connected: readonly string[];
  /** Next hops of routes that are not of BGP: the default gateway above all. */
  readonly nextHops: readonly string[];
}

/** Those that the kernel makes for addresses: RTPROT_KERNEL, and RTPROT_RA of prefixes that routers advertise. */
const ofLinks: ReadonlySet<number> = new Set([2, 9]);

export function nodeNetworkOf(routes: readonly MultipathRoute[]): NodeNetwork {
  const own = routes.filter(({ table, protocol }) => table === mainTable && protocol !== bgpProtocol);
  const connected = own.filter(
    ({ protocol, hops }) => ofLinks.has(protocol) && hops.every(({ gateway }) => gateway === undefined),
  );
  const nextHops = own.flatMap(({ hops }) => hops.flatMap(({ gateway }) => gateway ?? []));
  return {
    connected: sorted(connected.map(({ destination }) => destination).filter((each) => isRoutable(each))),
    nextHops: sorted(nextHops.filter((each) => isRoutable(each))),
  };
}

/** Link-local addresses are no matter of routes. */
function isRoutable(text: string): boolean {
  const ip = parseIp(text.split('/')[0] ?? '');
  return ip !== undefined && !isLinkLocal(ip);
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted();
}
