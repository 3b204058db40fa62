/**
 * The links between the router of a VPC and those of its gateways. In: the gateways of a VPC in the order of their rights. Out: two addresses of
 * each family for each link, of networks reserved for this purpose. Pure. Rule: a gateway keeps its link, which its status names.
 */
import { listedIn } from '../../../lib/desired/rights.ts';
import { cidrsOverlap, formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { familyOf, formatIp, parseIp } from '../../../lib/net/ip.ts';
import { digestName } from '../../../lib/ovn/digest-name.ts';
import type { EgressLink, VpcEgressGateway } from '../../model/egress-gateway.ts';
import { podKey } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { overlapOf } from '../vpc/judge-peerings.ts';

/** Each is divided into networks of four addresses. */
const ranges = (['169.254.128.0/17', 'fd69:7374:686d:7665::/64'] as const).map((text) => parseCidr(text) as Cidr);
const [first4] = ranges as [Cidr, Cidr];
/** Parts of them that have another use. */
const reserved = [
  // Metadata, DNS and credentials of clouds; sources of connections of a pod to itself (`lib/services/balancer.ts`).
  '169.254.168.0/22',
  // Gates: the network on the router of each VPC (`lib/services/gate.ts`), and the links on nodes.
  '169.254.224.0/19',
].map((text) => parseCidr(text) as Cidr);
/** As many as the smaller range contains. */
const slots = 2 ** (32 - 17 - 2);

function linkOf(slot: number): readonly EgressLink[] {
  return ranges.map(({ family, network }) => {
    const base = network + BigInt(slot) * 4n;
    const address = (offset: bigint): string => formatIp({ family, value: base + offset });
    return { family, near: address(1n), far: address(2n), prefix: family === 4 ? 30 : 126 };
  });
}

/** The number of the link whose IPv4 address a status names. */
function slotOf(texts: readonly string[]): number | undefined {
  const ip = parseIp(texts.find((text) => familyOf(text) === 4) ?? '');
  if (ip?.family !== 4) return undefined;
  const offset = Number(ip.value - first4.network) - 2;
  return offset >= 0 && offset % 4 === 0 && offset / 4 < slots ? offset / 4 : undefined;
}

/** Those that have no other use, and that other networks of the router do not contain. */
function isFree(view: View, vpc: string, link: readonly EgressLink[]): boolean {
  const side = view.vpcs.get(vpc);
  return link.every(({ near, prefix }) => {
    const cidr = parseCidr(`${near}/${prefix}`);
    if (cidr === undefined || reserved.some((one) => cidrsOverlap(one, cidr))) return false;
    return side === undefined || overlapOf(view, side, '', cidr) === undefined;
  });
}

/**
 * @param known links in force, by gateway
 * @returns a link for each gateway, by `namespace/name`
 */
export function chooseLinks(
  view: View,
  vpc: string,
  gateways: readonly VpcEgressGateway[],
  known: (key: string) => readonly EgressLink[],
): ReadonlyMap<string, readonly EgressLink[]> {
  const recordOf = (gateway: VpcEgressGateway): number | undefined => {
    const inForce = known(podKey(gateway)).map(({ far }) => far);
    return slotOf(inForce.length > 0 ? inForce : listedIn(gateway, 'internalIPs'));
  };
  const taken = new Set<number>();
  const links = new Map<string, readonly EgressLink[]>();
  const take = (key: string, slot: number): boolean => {
    const link = linkOf(slot);
    if (taken.has(slot) || !isFree(view, vpc, link)) return false;
    taken.add(slot);
    links.set(key, link);
    return true;
  };
  for (const gateway of gateways) {
    const slot = recordOf(gateway);
    if (slot !== undefined) take(podKey(gateway), slot);
  }
  for (const gateway of gateways) {
    const key = podKey(gateway);
    const start = Number.parseInt(digestName('link', vpc, key).slice(0, 8), 16);
    for (let step = 0; !links.has(key) && step < slots; step += 1) take(key, (start + step) % slots);
  }
  return links;
}

/** The network of a link, for messages and rows. */
export function linkCidr({ near, prefix }: EgressLink): string {
  const cidr = parseCidr(`${near}/${prefix}`);
  return cidr === undefined ? '' : formatCidr(cidr);
}
