/** Services of type LoadBalancer, for all rooms: the class, the requests of a Service, and which Services may share an address. Pure. */
import { annotation } from '../api/names.ts';
import { lastOf, parseCidr } from '../net/cidr.ts';
import { formatIp, parseIp, type Family, type Ip } from '../net/ip.ts';
import { parseRange, type Range } from '../net/range.ts';
import type { Ingress, Service } from './service.ts';

/** The class of load balancers that Isthmus implements. */
export const loadBalancerClass = 'isthmus.network/load-balancer';

/** The condition of a Service about its addresses. A Service has it if Isthmus allocated its addresses, or is to allocate them. */
export const loadBalancerReady = 'isthmus.network/LoadBalancerReady';

/**
 * The finalizer that Kubernetes has for Services with addresses of a load balancer. Other programs use it too: the condition, not the finalizer, says whose
 * addresses they are.
 */
export const loadBalancerCleanup = 'service.kubernetes.io/load-balancer-cleanup';

/** Reason of the condition while a Service without addresses still has the finalizer. */
export const addressesReleased = 'AddressesReleased';

/** Precedes, in the message of that condition, the addresses that a Service keeps while it waits for others. */
export const keeps = '; it keeps ';

/** Whether Isthmus allocated the address to the Service, by the record in its condition. */
export function isGiven({ conditions }: Pick<Service, 'conditions'>, ip: Ip): boolean {
  const condition = conditions.find(({ type }) => type === loadBalancerReady);
  if (condition?.status === 'True') return true;
  const [, list = ''] = (condition?.message ?? '').split(keeps);
  return list.split(', ').includes(formatIp(ip));
}

/** The addresses that a Service requests. */
export interface AddressRequest {
  /** By family; empty if the Service requests no particular address. */
  readonly addresses: ReadonlyMap<Family, Ip>;
  /** Name of the LoadBalancerPool; undefined if the Service requests none. */
  readonly pool: string | undefined;
  /** Services of one namespace with the same key may share an address; empty if the Service shares none. */
  readonly sharingKey: string;
}

/** The range of an entry of `spec.addresses` of a LoadBalancerPool; undefined if the entry is invalid. */
export function parsePoolRange(text: string): Range | undefined {
  if (!text.includes('/')) return parseRange(text.replace(/ *(?:-|\.\.) */, '..'));
  const cidr = parseCidr(text);
  return cidr && { family: cidr.family, first: cidr.network, last: lastOf(cidr) };
}

/** Parses the request of a Service. @returns a sentence if the request is invalid */
export function parseAddressRequest(service: Service): AddressRequest | string {
  const { annotations, loadBalancerIp } = service;
  const list = annotations[annotation.loadBalancerIps];
  const [field, text] =
    list === undefined ? ['spec.loadBalancerIP', loadBalancerIp] : [annotation.loadBalancerIps, list];
  const addresses = new Map<Family, Ip>();
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const ip = parseIp(part);
    if (ip === undefined) return `${field}: '${part}' is not an address: list one for each family`;
    if (addresses.has(ip.family)) return `${field} has two addresses of family IPv${ip.family}: keep one`;
    if (!familiesOf(service).includes(ip.family))
      return `${field} asks for ${formatIp(ip)}, and spec.ipFamilies has no IPv${ip.family}: add it, or ask for another address`;
    addresses.set(ip.family, ip);
  }
  const pool = annotations[annotation.loadBalancerPool]?.trim();
  return { addresses, pool: pool === '' ? undefined : pool, sharingKey: sharingKeyOf(service) };
}

/** `status.loadBalancer`, with null for entries to remove. */
export function loadBalancerStatus(ingress: readonly Ingress[]): { readonly ingress: readonly Ingress[] | null } {
  return { ingress: ingress.length === 0 ? null : ingress.map(withMode) };
}

/** The fields of an entry in a fixed order. An absent mode is `VIP`: API servers before 1.30 do not store it. */
function withMode({ ip, hostname, ipMode }: Ingress): Ingress {
  if (ip === undefined) return hostname === undefined ? {} : { hostname };
  return { ip, ...(hostname !== undefined && { hostname }), ipMode: ipMode ?? 'VIP' };
}

/** The families in which a Service has an address. */
export function familiesOf({ ipFamilies }: Service): readonly Family[] {
  return ipFamilies.length === 0 ? [4] : ipFamilies;
}

/** The sharing key; empty if the Service shares its addresses with no other. */
export function sharingKeyOf({ annotations }: Service): string {
  return annotations[annotation.sharingKey]?.trim() ?? '';
}

/** Why two Services cannot share an address, as a clause; undefined if they can. */
export function sharingObstacle(a: Service, b: Service): string | undefined {
  const key = sharingKeyOf(a);
  if (key === '' || a.namespace !== b.namespace || key !== sharingKeyOf(b))
    return `only Services of one namespace with the same annotation ${annotation.sharingKey} share an address`;
  const common = a.ports.find((one) =>
    b.ports.some(({ protocol, port }) => protocol === one.protocol && port === one.port),
  );
  if (common !== undefined) return `both have port ${common.port}/${common.protocol}`;
  return a.isExternalPolicyLocal === b.isExternalPolicyLocal ? undefined : 'they differ in spec.externalTrafficPolicy';
}
