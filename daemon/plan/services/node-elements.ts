/** Plans the elements of the table that belong to no Service, from the node and the networks of the cluster. Pure. */
import { nodeInterface } from '../../../lib/api/names.ts';
import { cidrContains, parseCidr } from '../../../lib/net/cidr.ts';
import { type Family, isLinkLocal, parseIp, familyOf } from '../../../lib/net/ip.ts';
import type { TableElement } from '../../model/service-table.ts';
import { disjoint } from './frontends.ts';

export interface NodeElementsInput {
  /** Addresses of pods on this node. */
  readonly ownPods: readonly string[];
  /** Networks of pods, and of nodes' ports in the overlay. Sources in them are not external clients. */
  readonly podNetworks: readonly string[];
  readonly serviceCidrs: readonly string[];
  /** Addresses of this node that lead to it from pods of all nodes. */
  readonly internalIps: readonly string[];
  readonly otherNodes: readonly string[];
  /** Addresses of the node's interfaces. */
  readonly addresses: readonly string[];
  /** Networks of the addresses that have NodePorts; empty for all addresses. */
  readonly nodePortNetworks: readonly string[];
  /** Addresses of ovn0 for the node's own connections. */
  readonly ownAddresses: readonly string[];
  /** Addresses of ovn0 for connections of other clients. */
  readonly serviceAddresses: readonly string[];
}

const families = [4, 6] as const;

export function planNodeElements(input: NodeElementsInput): readonly TableElement[] {
  const { ownPods, podNetworks, serviceCidrs, internalIps, otherNodes, ownAddresses, serviceAddresses } = input;
  const members = (set: string, keys: readonly string[]): readonly TableElement[] =>
    keys.map((key) => ({ set, key, value: '' }));
  const source = (set: string, address: string | undefined): readonly TableElement[] =>
    address === undefined ? [] : [{ set, key: nodeInterface, value: address }];
  return families.flatMap((family) => [
    ...members(`own-pods${family}`, ofFamily(ownPods, family)),
    ...members(`pods${family}`, disjoint(podNetworks, family)),
    ...members(`service-cidrs${family}`, disjoint(serviceCidrs, family)),
    ...members(`internal-addresses${family}`, ofFamily(internalIps, family)),
    ...members(`other-nodes${family}`, ofFamily(otherNodes, family)),
    ...members(`node-addresses${family}`, nodePortAddresses(input, family)),
    ...source(`own-sources${family}`, ofFamily(ownAddresses, family)[0]),
    ...source(`service-sources${family}`, ofFamily(serviceAddresses, family)[0]),
  ]);
}

export function nodePortAddresses(
  { addresses, nodePortNetworks }: Pick<NodeElementsInput, 'addresses' | 'nodePortNetworks'>,
  family: Family,
): readonly string[] {
  const networks = nodePortNetworks.flatMap((text) => parseCidr(text) ?? []);
  return ofFamily(addresses, family).filter((address) => {
    const ip = parseIp(address);
    if (ip === undefined || isLinkLocal(ip) || loopbacks.some((network) => cidrContains(network, ip))) return false;
    return networks.length === 0 || networks.some((network) => cidrContains(network, ip));
  });
}

const loopbacks = ['127.0.0.0/8', '::1/128'].flatMap((text) => parseCidr(text) ?? []);

function ofFamily(addresses: readonly string[], family: Family): readonly string[] {
  return addresses.filter((address) => familyOf(address) === family);
}
