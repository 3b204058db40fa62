/**
 * The owner of the network that contains an address of a node, as its kubelet reports it. The network stays in force, and
 * the node is not served by such an address.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import { cidrContains, formatCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, parseIp, formatIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { PrefixCover } from '../../../lib/net/prefix-cover.ts';
import { isInLan, routingInForce, type NetInForce } from '../../model/net-in-force.ts';
import { partsOf } from '../../model/net-parts.ts';
import type { RemoteCluster } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** Nodes may be in the LAN of an underlay subnet, but must not use an address that is allocated there. */
function ownerInLan(view: View, subnet: string, net: NetInForce, { family, value }: Ip): string | undefined {
  const part = family === 4 ? net.v4 : net.v6;
  if (part?.gateway === value) return `the gateway of subnet ${subnet}`;
  const port = view.pool(subnet)?.pool(family)?.owner(value);
  return port === undefined ? undefined : `port ${port} in subnet ${subnet}`;
}

/** If there are several subnets, the first by name, whatever the order in which they were judged. */
function ownerInSubnets(view: View, ip: Ip): string | undefined {
  let first: { readonly name: string; readonly owner: string } | undefined;
  for (const [name, { vpc, net }] of view.verdicts) {
    const isIn = net !== undefined && partsOf(net).some(({ cidr }) => cidrContains(cidr, ip));
    // Nodes route to such a network whatever its VPC is.
    const isReached = vpc === defaultVpc || routingInForce(net) === 'nodes';
    if (!isReached || !isIn || (first !== undefined && first.name < name)) continue;
    const owner = isInLan(net) ? ownerInLan(view, name, net, ip) : `subnet ${name}`;
    if (owner !== undefined) first = { name, owner };
  }
  return first?.owner;
}

/** Active prefixes of another cluster, by transit switch; computed once for each value of the object. */
const covers = new WeakMap<RemoteCluster, ReadonlyMap<string, PrefixCover>>();

function coversOf(cluster: RemoteCluster): ReadonlyMap<string, PrefixCover> {
  const known = covers.get(cluster);
  if (known !== undefined) return known;
  const made = new Map<string, PrefixCover>();
  for (const { cidr, transitSwitch, isLearned, isActive } of cluster.routes) {
    // A learned prefix may contain the network of the nodes, whose traffic it does not attract.
    if (isLearned || !isActive) continue;
    const cover = made.get(transitSwitch) ?? new PrefixCover();
    made.set(transitSwitch, cover);
    cover.add(cidr, formatCidr(cidr));
  }
  covers.set(cluster, made);
  return made;
}

function hostOf({ family, value }: Ip): Cidr {
  return { family, network: value, prefix: bitsOf(family) };
}

function ownerInCluster(view: View, cluster: RemoteCluster, ip: Ip): string | undefined {
  for (const [transitSwitch, cover] of coversOf(cluster)) {
    if (view.transitSwitches.get(transitSwitch)?.vpc !== defaultVpc) continue;
    const prefix = cover.coverOf(hostOf(ip));
    if (prefix !== undefined) return `cluster ${cluster.name} (${prefix})`;
  }
  return undefined;
}

/** Nodes with an address in a prefix of another cluster, by either of two values of its object. */
export function nodesInClusters(view: View, clusters: readonly (RemoteCluster | undefined)[]): readonly string[] {
  const all = clusters.flatMap((cluster) => (cluster === undefined ? [] : [...coversOf(cluster).values()]));
  const isInside = (address: string): boolean => {
    const ip = parseIp(address);
    return ip !== undefined && all.some((cover) => cover.coverOf(hostOf(ip)) !== undefined);
  };
  return [...view.nodes.values()].filter(({ addresses }) => addresses.some(isInside)).map(({ name }) => name);
}

/** The owner of an address in the default VPC; undefined if a node may have the address. */
export function networkOwner(view: View, address: string): string | undefined {
  const ip = parseIp(address);
  if (ip === undefined) return undefined;
  const owner = ownerInSubnets(view, ip);
  if (owner !== undefined) return owner;
  if (view.capabilities.apiServer?.includes(address) === true) return 'Service kubernetes';
  for (const { name, cidrs } of view.transitSwitches.values())
    if (cidrs.some((cidr) => cidrContains(cidr, ip))) return `transit switch ${name}`;
  for (const cluster of view.remoteClusters.values()) {
    const holder = ownerInCluster(view, cluster, ip);
    if (holder !== undefined) return holder;
  }
  return undefined;
}

/** Nodes with an address in an underlay subnet, which a port may have gained or lost. */
export function nodesInLan(view: View, subnet: string): readonly string[] {
  const net = view.verdicts.get(subnet)?.net;
  if (net?.underlay === undefined) return [];
  return partsOf(net).flatMap(({ cidr: { family }, foreign = [] }) =>
    foreign.flatMap((value) => [...view.indexes.nodesByTrait.of(formatIp({ family, value }))]),
  );
}
