import type { Problem } from '../../desired/problem.ts';
import { parseCidr } from '../../net/cidr.ts';
import { familyOfAddress } from '../family.ts';
import type { Eip, RouterPort } from '../objects.ts';
import { Collected, hostPrefix } from './host-routes.ts';
import { type Requester, byAnnotation, type ObjectOffers, type OfferGateway } from './offer.ts';
import { announcers, isForAll, isWithin, selects, type View, type ViewedAdvertisement } from './view.ts';

/** A port that translates an address, with its own addresses. */
type Port = RouterPort & { readonly ips: readonly string[] };

/** Addresses outside that a rule in force uses, while a node has the router port that translates them. */
export function eipOffers(view: View, eip: Eip): ObjectOffers {
  const collected = new Collected();
  const { annotation } = eip;
  const key = `${eip.kind} ${eip.name}`;
  if (annotation?.scope === 'invalid') collected.refuseAnnotation(key, annotation.text, 'write true or local');
  const isAnnotated = annotation?.scope === 'cluster' || annotation?.scope === 'local';
  const port = portOf(view, eip, key);
  const requesters: readonly Requester[] = view.bySource.Eip.filter((each) => isMeant(view, each, eip));
  for (const each of [...requesters, ...(isAnnotated ? [byAnnotation] : [])]) {
    if ('code' in port) collected.refuse(each.name, port.code, port.message);
    else offer(collected, view, eip, each, port);
  }
  return collected;
}

/** A selector of all EIPs does not mean the addresses of routers, unless they are reached as those of rules are. */
function isMeant(view: View, advertisement: ViewedAdvertisement, { labels, routerPort }: Eip): boolean {
  const isFound = routerPort === undefined || isByNodes(view, routerPort);
  return selects(advertisement, labels) && (isFound || !isForAll(advertisement.spec.selector));
}

/** Whether no wire leads to the port: neighbours of the node that has it know its addresses by BGP alone. */
function isByNodes({ state }: View, { subnet }: RouterPort): boolean {
  return state.subnets.get(subnet)?.isByNodes === true;
}

/** The port, or why none of the addresses is announced. */
function portOf(view: View, eip: Eip, key: string): Port | Problem {
  const notReady = { code: 'NotReady', message: `${key} is not ready` };
  if (eip.routerPort !== undefined && isByNodes(view, eip.routerPort)) {
    // Without an address of its own it shows the one that its author wants, which may be that of another one.
    if (!eip.isReady) return notReady;
    return held(eip.name, { ...eip.routerPort, ips: eip.ips }, key);
  }
  if (eip.routerPort !== undefined) {
    const message = `${key} is the address of a router, which is reached in its Subnet by ARP; announce those of its rules`;
    return { code: 'RouterAddress', message };
  }
  const { gatewayPort: name } = eip;
  if (!eip.isReady) return notReady;
  if (name === '')
    return { code: 'NotUsed', message: `no rule of ${key} is in force; see the conditions of its rules` };
  const { routerPort, ips = [] } = view.state.eips.get(`OvnEip/${name}`) ?? {};
  if (routerPort === undefined)
    return { code: 'NoRouterAddress', message: `OvnEip ${name}, the router port of ${key}, does not exist` };
  return held(name, { ...routerPort, ips }, key);
}

function held(name: string, port: Port, key: string): Port | Problem {
  if (port.holder !== '') return port;
  return {
    code: 'GatewayPending',
    message: `no node has the router port ${name} of ${key}; see its condition Ready`,
  };
}

function offer(collected: Collected, view: View, eip: Eip, requester: Requester, port: Port): void {
  const { name: advertisement } = requester;
  const nodes = nodesOf(eip, requester, port);
  const speaking = announcers(view, advertisement);
  if (nodes !== undefined && !nodes.some((node) => speaking.has(node))) {
    const message = `the router port ${eip.gatewayPort || eip.name} of ${eip.kind} ${eip.name} may be on ${nodes.join(', ')}, which announce nothing of this; have speakers there, or use scope Cluster`;
    collected.refuse(advertisement, 'NoSpeaker', message);
    return;
  }
  const what = `address of ${eip.kind} ${eip.name}`;
  for (const ip of eip.ips) {
    const gateway = gatewayOf(view, ip, port);
    if ('code' in gateway) collected.refuse(advertisement, gateway.code, `${what}: ${gateway.message}`, hostPrefix(ip));
    else collected.eip(view, requester, ip, nodes, gateway, what);
  }
}

/** The nodes that announce it. All that may have the port do by default: when it moves, routers have the other paths already. */
function nodesOf({ annotation }: Eip, { spec }: Requester, { nodes, holder }: Port): readonly string[] | undefined {
  const scope = spec?.scope ?? (annotation?.scope === 'local' ? 'Local' : 'Auto');
  if (scope === 'Cluster') return undefined;
  return scope === 'Local' ? [holder] : [...new Set([...nodes, holder])].toSorted();
}

function gatewayOf(view: View, ip: string, { subnet: name, ips, holder }: Port): OfferGateway | Problem {
  // A Subnet whose excludeIps lacks a host could give the host's address to an EIP.
  const owner = view.hosts.get(ip);
  if (owner !== undefined) return { code: 'AddressInUse', message: `${ip} is an address of ${owner}` };
  const subnet = view.state.subnets.get(name);
  const network = subnet?.prefixes.find((prefix) => {
    const cidr = parseCidr(prefix);
    return cidr !== undefined && isWithin(hostPrefix(ip), [cidr]);
  });
  if (subnet?.isPhysical !== true || network === undefined) {
    const message = `${ip} is in no network of Subnet ${name}, or that is not in a VLAN of the physical network`;
    return { code: 'NoExternalSubnet', message };
  }
  if (subnet.isByNodes === true) return { holder, address: undefined, network };
  const address = ips.find((each) => familyOfAddress(each) === familyOfAddress(ip));
  if (address !== undefined) return { holder, address, network };
  return { code: 'NoRouterAddress', message: `the router has no address of the family of ${ip} in Subnet ${name}` };
}
