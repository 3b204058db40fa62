/**
 * Decides which Subnets are in force. In: Subnets that no other Subnet can be in the way of, the networks in force before and the
 * addresses in use. Out: a verdict for each Subnet. Called by `SubnetVerdicts`. Rules: a network in force prevails over Subnets, nodes
 * and edits that come later. Of new Subnets the older wins. A refused edit leaves the former network in force, also for new pods.
 */
import { defaultVpc, joinSubnet, label, switchRouterPort } from '../../../lib/api/names.ts';
import { routingOf } from '../../../lib/api/subnet-routing.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { cidrContains, cidrsOverlap, formatCidr, lastOf, parseCidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { Range } from '../../../lib/net/range.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { hairpinSources } from '../../../lib/services/balancer.ts';
import { hasRouterPort, isInLan, routingInForce } from '../../model/net-in-force.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import { partsOf } from '../../model/net-parts.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type {
  KeySlice,
  LoadBalancerPool,
  Node,
  RemoteCluster,
  Subnet,
  TransitSwitch,
  Vpc,
} from '../../model/objects.ts';
import { portGroupPart } from '../../model/ovn-names.ts';
import type { Verdict, Link, VlanVerdict } from '../../model/settled.ts';
import { poolOverlapOf } from '../load-balancer/pool-overlap.ts';
import { peerPort } from '../vpc/link.ts';
import { cidrText } from './accepted-note.ts';
import { withheldGateways } from './former-gateways.ts';
import { Places } from './places.ts';
import type { Place } from './places.ts';
import { remoteOverlapOf, transitOverlapOf, tunnelOverlapOf } from './remote-overlap.ts';
import { patchOf, scopesOf } from './subnet-claims.ts';
import { defineSubnet, gatewayIp } from './subnet-net.ts';
import { readVips } from './vip-list.ts';

export interface Evidence {
  readonly subnets: Iterable<Subnet>;
  /** Names of deleted Subnets whose networks are in force. */
  readonly orphans: Iterable<string>;
  readonly vpcs: ReadonlyMap<string, Vpc>;
  readonly vlans: ReadonlyMap<string, VlanVerdict>;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly transitSwitches: ReadonlyMap<string, TransitSwitch>;
  readonly keySlices: ReadonlyMap<string, KeySlice>;
  readonly remoteClusters: ReadonlyMap<string, RemoteCluster>;
  readonly loadBalancerPools: ReadonlyMap<string, LoadBalancerPool>;
  /** Addresses by which pods reach the API server. */
  readonly apiServer: readonly string[];
  readonly inForce: ReadonlyMap<string, NetInForce>;
  /** By name, the uid of a deleted Subnet whose network is still in force. */
  readonly predecessors: ReadonlyMap<string, string>;
  /** The addresses in use: the lowest, the highest, and whether a given one is in use. */
  readonly usage: (subnet: string, family: Family) => Usage | undefined;
  /** Networks in force between the routers of two VPCs, by VPC. */
  readonly links: ReadonlyMap<string, readonly Link[]>;
  readonly defaultSubnet: string;
  /** Whether switches have load balancers unless their Subnet says otherwise. */
  readonly loadBalancers: boolean;
}

export interface Usage {
  readonly first: bigint;
  readonly last: bigint;
  has(value: bigint): boolean;
}

function isInside(net: SubnetNet, address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && partsOf(net).some(({ cidr }) => cidrContains(cidr, ip));
}

function containedProblem(net: SubnetNet, address: string, what: string): Problem {
  const message = `spec.cidrBlock ${cidrText(net)} contains ${address}, ${what}: choose a free CIDR`;
  return { code: 'CIDROverlap', message };
}

/** CIDRs as a corrected spec has them; undefined if one of them is invalid. */
function canonicalCidrs(text: string): string | undefined {
  const cidrs = text.split(',').map((part) => parseCidr(part.trim()));
  const known = cidrs.filter((cidr) => cidr !== undefined).sort((a, b) => a.family - b.family);
  return known.length < cidrs.length ? undefined : known.map(formatCidr).join();
}

/** Whether the spec requests the network that is in force. */
export function isIncumbent(
  { spec }: Subnet,
  net: NetInForce | undefined,
  vlans: ReadonlyMap<string, VlanVerdict>,
): boolean {
  if (net === undefined || cidrText(net) !== canonicalCidrs(spec.cidrBlock)) return false;
  const vlan = vlans.get(spec.vlan);
  const isByNodes = vlan?.isByNodes ?? routingInForce(net) === 'nodes';
  if (routingInForce(net) !== routingOf(spec, isByNodes)) return false;
  return vlan === undefined || (vlan.provider === net.underlay?.provider && vlan.id === net.underlay.vlan);
}

/** A node that joins while `join` is being deleted must not wait until all other nodes are gone. */
function takesPorts({ name, isDeleting }: Subnet): boolean {
  return !isDeleting || name === joinSubnet;
}

/** Adds the addresses that are not allocated automatically by the current spec, although its network is refused: vips and former gateways. */
function reserveAgain(subnet: Subnet, net: NetInForce): NetInForce {
  const again = (part: FamilyNet): FamilyNet => {
    const { ips } = readVips(subnet.spec, [part]);
    const vips = ips.map(({ family, value }): Range => ({ family, first: value, last: value }));
    const isKnown = ({ first }: Range): boolean =>
      part.excluded.some((range) => range.first <= first && first <= range.last);
    const excluded = [...part.excluded, ...vips.filter((vip) => !isKnown(vip))];
    return { ...part, excluded, withheld: withheldGateways(subnet, part) };
  };
  return { ...net, ...(net.v4 && { v4: again(net.v4) }), ...(net.v6 && { v6: again(net.v6) }) };
}

/** The network that is reserved for a Subnet, and the VPC in which it is. */
interface Given {
  readonly vpc: string;
  readonly net: NetInForce;
}

class Judge {
  readonly #evidence: Evidence;
  readonly #places = new Map<string, Places>();
  /** Subnets by the name part of their port groups. The part `node` belongs to the port groups of nodes. */
  readonly #portGroupNames = new Map<string, string>([[portGroupPart('node'), '']]);
  readonly #portNames = new Map<string, string>();
  readonly #given = new Map<string, Given>();

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
  }

  all(): ReadonlyMap<string, Verdict> {
    const subnets = [...this.#evidence.subnets].sort(byAge);
    for (const { name, spec } of subnets) this.#hold(name, vpcNameOf(spec));
    // The network of a deleted Subnet is kept from others while pods are still in it, however it was deleted.
    for (const name of this.#evidence.orphans)
      // Its VPC is unknown by now. Most Subnets are in the default one.
      if (this.#isInUse(name)) this.#hold(name, defaultVpc);
    const [incumbents, others]: [Subnet[], Subnet[]] = [[], []];
    for (const subnet of subnets) (this.#isIncumbent(subnet) ? incumbents : others).push(subnet);
    return new Map([...incumbents, ...others].map((subnet) => [subnet.name, this.#judge(subnet)]));
  }

  /** Reserves the network in force of a Subnet until the Subnet is judged. */
  #hold(name: string, vpc: string): void {
    const net = this.#evidence.inForce.get(name);
    if (net === undefined || this.#overlapOf(name, vpc, net) !== undefined) return;
    this.#give(name, vpc, net);
  }

  #give(name: string, vpc: string, net: NetInForce): void {
    this.#given.set(name, { vpc, net });
    for (const places of this.#placesOf(vpc, net)) places.add(name, net);
    const group = portGroupPart(name);
    if (!this.#portGroupNames.has(group)) this.#portGroupNames.set(group, name);
    for (const port of patchOf(name, vpc)) if (!this.#portNames.has(port)) this.#portNames.set(port, name);
  }

  #takeBack(name: string): void {
    const given = this.#given.get(name);
    if (given === undefined) return;
    this.#given.delete(name);
    for (const places of this.#placesOf(given.vpc, given.net)) places.remove(name, given.net);
    const group = portGroupPart(name);
    if (this.#portGroupNames.get(group) === name) this.#portGroupNames.delete(group);
    for (const port of patchOf(name, given.vpc)) if (this.#portNames.get(port) === name) this.#portNames.delete(port);
  }

  #overlapOf(name: string, vpc: string, net: NetInForce): Place | undefined {
    return this.#placesOf(vpc, net)
      .map((places) => places.overlap(name, net))
      .find((place) => place !== undefined);
  }

  #placesOf(vpc: string, net: NetInForce): readonly Places[] {
    return scopesOf(vpc, net).map((scope) => this.#placesIn(scope));
  }

  /** Networks in use in a VPC or VLAN. Networks of different scopes may overlap. */
  #placesIn(scope: string): Places {
    const places = this.#places.get(scope) ?? new Places();
    this.#places.set(scope, places);
    return places;
  }

  #isIncumbent(subnet: Subnet): boolean {
    return isIncumbent(subnet, this.#evidence.inForce.get(subnet.name), this.#evidence.vlans);
  }

  #isInUse(name: string): boolean {
    return this.#evidence.usage(name, 4) !== undefined || this.#evidence.usage(name, 6) !== undefined;
  }

  #judge(subnet: Subnet): Verdict {
    const vpc = vpcNameOf(subnet.spec);
    const defined = defineSubnet(subnet, this.#evidence);
    const problem = 'problem' in defined ? defined.problem : this.#conflictOf(subnet, defined.value.net);
    if (problem !== undefined || !('value' in defined)) return this.#former(subnet, problem);
    const { spec } = defined.value;
    const net = this.#apartFromNodes(defined.value.net);
    this.#takeBack(subnet.name);
    this.#give(subnet.name, vpc, net);
    const hasDefault = this.#evidence.loadBalancers && subnet.name !== joinSubnet;
    const balanced = hasDefault ? { ...spec, enableLb: subnet.spec.enableLb ?? true } : spec;
    return { vpc, net, of: subnet.uid, spec: balanced, isOpen: takesPorts(subnet), problem: undefined };
  }

  /** The verdict for a Subnet whose spec is refused: the former network stays in force if it can. */
  #former(subnet: Subnet, problem: Problem | undefined): Verdict {
    const { name } = subnet;
    const vpc = vpcNameOf(subnet.spec);
    const before = this.#evidence.inForce.get(name);
    const isSound =
      before !== undefined &&
      !this.#evidence.predecessors.has(name) &&
      this.#hasGround(vpc, before) &&
      this.#overlapOf(name, vpc, before) === undefined;
    const net = isSound || this.#isInUse(name) ? before : undefined;
    if (net === undefined) this.#takeBack(name);
    const kept = net && this.#apartFromNodes(reserveAgain(subnet, net));
    const of = this.#evidence.predecessors.get(name) ?? subnet.uid;
    return { vpc, net: kept, of, spec: undefined, isOpen: isSound && takesPorts(subnet), problem };
  }

  /** Whether the VPC and the VLAN of a network still exist. */
  #hasGround(vpc: string, { underlay }: NetInForce): boolean {
    const { vpcs, vlans } = this.#evidence;
    if (vpc !== defaultVpc && !vpcs.has(vpc)) return false;
    const isIn = ({ provider, id, problem }: VlanVerdict): boolean =>
      problem === undefined && provider === underlay?.provider && id === underlay.vlan;
    return underlay === undefined || vlans.values().some(isIn);
  }

  /** Withholds the addresses of nodes, which may be in the LAN of an underlay subnet, from pods. */
  #apartFromNodes(net: NetInForce): NetInForce {
    if (net.underlay === undefined) return net;
    const nodes = [...this.#evidence.nodes.values()];
    const ips = nodes.flatMap(({ addresses }) => addresses.flatMap((text) => parseIp(text) ?? []));
    const apart = (part: FamilyNet): FamilyNet => {
      const inside = ips.filter((ip) => cidrContains(part.cidr, ip)).map(({ value }) => value);
      const foreign = [...new Set(inside)].sort((a, b) => (a < b ? -1 : 1));
      return foreign.length === 0 ? part : { ...part, foreign };
    };
    return { ...net, ...(net.v4 && { v4: apart(net.v4) }), ...(net.v6 && { v6: apart(net.v6) }) };
  }

  #conflictOf(subnet: Subnet, net: NetInForce): Problem | undefined {
    const { name } = subnet;
    const vpc = vpcNameOf(subnet.spec);
    if (name === defaultVpc) {
      return { code: 'NameConflict', message: `${name} is the name of the Vpc: choose another name` };
    }
    if (name === vpc) {
      const message = `${name} is also the name of its Vpc, and both ports of the link between them would be named ${switchRouterPort(name, vpc)}: choose another name`;
      return { code: 'NameConflict', message };
    }
    const holder = this.#portGroupNames.get(portGroupPart(name));
    if (holder !== undefined && holder !== name) {
      const what = holder === '' ? 'the port groups of nodes' : `subnet ${holder}`;
      return {
        code: 'NameConflict',
        message: `the name ${name} makes the same OVN port group names as ${what}: choose another name`,
      };
    }
    const place = this.#overlapOf(name, vpc, net);
    if (place !== undefined) {
      return {
        code: 'CIDROverlap',
        message: `spec.cidrBlock ${cidrText(net)} overlaps ${formatCidr(place.cidr)} of subnet ${place.owner}: choose a free CIDR`,
      };
    }
    const rival = patchOf(name, vpc)
      .map((port) => this.#portNames.get(port))
      .find((one) => one !== undefined && one !== name);
    if (rival !== undefined) {
      const message = `the ports between ${name} and Vpc ${vpc} would have the names of those of subnet ${rival}: choose another name`;
      return { code: 'NameConflict', message };
    }
    if (this.#isIncumbent(subnet)) return this.#surroundingConflictOf(subnet, net);
    const peering = hasRouterPort(net) ? this.#peeringWithPort(patchOf(name, vpc)) : undefined;
    if (peering !== undefined) {
      const message = `the ports between ${name} and Vpc ${vpc} would have the same name as the port of ${peering}, which had it first: choose another name`;
      return { code: 'NameConflict', message };
    }
    if (this.#evidence.vpcs.get(vpc)?.isDeleting === true)
      return { code: 'VpcNotFound', message: `spec.vpc names ${vpc}, which is being deleted: name another Vpc` };
    const closing = this.#evidence.vlans.get(subnet.spec.vlan)?.closing;
    if (closing !== undefined)
      return {
        code: closing.code,
        message: `spec.vlan names Vlan ${subnet.spec.vlan}, which ${closing.message}: name another`,
      };
    if (this.#isTransitSwitch(name))
      return { code: 'NameConflict', message: `${name} is the name of a transit switch: choose another name` };
    return this.#surroundingConflictOf(subnet, net);
  }

  /** A peering in force whose router port has one of these names. */
  #peeringWithPort(ports: readonly string[]): string | undefined {
    for (const [vpc, links] of this.#evidence.links)
      for (const { remote } of links)
        if (ports.includes(peerPort(vpc, remote))) return `the peering of Vpc ${vpc} with ${remote}`;
    return undefined;
  }

  /** Whether it is the name of a transit switch or of one of its paths, each of which is a logical switch. */
  #isTransitSwitch(name: string): boolean {
    const { transitSwitches } = this.#evidence;
    return transitSwitches.has(name) || transitSwitches.values().some(({ paths }) => paths.includes(name));
  }

  /** Conflicts with objects other than Subnets, and with addresses in use. */
  #surroundingConflictOf(subnet: Subnet, net: NetInForce): Problem | undefined {
    const { name } = subnet;
    const usage = this.#usageConflictOf(name, net);
    if (this.#isIncumbent(subnet)) return usage;
    const hairpin = hairpinSources.find((one) => isInside(net, one));
    if (hairpin !== undefined)
      return containedProblem(net, hairpin, 'the source of connections of a pod to its own Service');
    const remote = hasRouterPort(net)
      ? (this.#linkConflictOf(subnet, net) ?? this.#remoteConflictOf(subnet, net))
      : undefined;
    // Other VPCs have no route to nodes, so an overlap does no harm there.
    if (vpcNameOf(subnet.spec) !== defaultVpc && routingInForce(net) !== 'nodes') return remote ?? usage;
    const node = isInLan(net) ? undefined : this.#nodeConflictOf(net);
    const pool = poolOverlapOf(net, this.#evidence.loadBalancerPools);
    return remote ?? this.#apiConflictOf(net) ?? node ?? pool ?? usage;
  }

  #linkConflictOf(subnet: Subnet, net: SubnetNet): Problem | undefined {
    const vpc = vpcNameOf(subnet.spec);
    const parts = partsOf(net);
    const link = this.#evidence.links.get(vpc)?.find(({ cidr }) => parts.some((part) => cidrsOverlap(part.cidr, cidr)));
    if (link === undefined) return undefined;
    const message = `spec.cidrBlock ${cidrText(net)} overlaps ${formatCidr(link.cidr)} between Vpc ${vpc} and ${link.remote}: choose a free CIDR`;
    return { code: 'CIDROverlap', message };
  }

  /** For new Subnets only: the interconnect must avoid an older one. */
  #remoteConflictOf(subnet: Subnet, net: SubnetNet): Problem | undefined {
    const inForce = this.#evidence.inForce.get(subnet.name);
    return (
      transitOverlapOf(subnet, net, this.#evidence) ??
      tunnelOverlapOf(subnet, net, this.#evidence) ??
      remoteOverlapOf(subnet, net, inForce, this.#evidence)
    );
  }

  #apiConflictOf(net: SubnetNet): Problem | undefined {
    const address = this.#evidence.apiServer.find((one) => isInside(net, one));
    return address === undefined ? undefined : containedProblem(net, address, 'the address of Service kubernetes');
  }

  #nodeConflictOf(net: SubnetNet): Problem | undefined {
    for (const node of this.#evidence.nodes.values()) {
      const address = node.addresses.find((one) => isInside(net, one));
      if (address !== undefined) return containedProblem(net, address, `the address of node ${node.name}`);
    }
    return undefined;
  }

  #usageConflictOf(name: string, net: SubnetNet): Problem | undefined {
    for (const family of [4, 6] as const) {
      const usage = this.#evidence.usage(name, family);
      if (usage === undefined) continue;
      const part = family === 4 ? net.v4 : net.v6;
      const isInside = part !== undefined && usage.first > part.cidr.network && usage.last < lastOf(part.cidr);
      if (isInside && !usage.has(part.gateway)) continue;
      const what = isInside
        ? `the gateway ${gatewayIp(part)} is in use: name another`
        : `addresses in use are outside of spec.cidrBlock ${cidrText(net)}: ${cidrText(this.#evidence.inForce.get(name) ?? net)} stays in force, also for new pods, until these addresses are released; delete their pods, or restore the former CIDR`;
      // Pods are not named: each deleted pod would change the message and cause another event.
      const message = `${what}; kubectl get ips -l ${label.subnet}=${name} lists them`;
      return { code: 'AddressesInUse', message };
    }
    return undefined;
  }
}

export function judgeSubnets(evidence: Evidence): ReadonlyMap<string, Verdict> {
  return new Judge(evidence).all();
}
