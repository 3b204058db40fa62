/**
 * Which Subnets are in force. In: all Subnets, what was in force before and what is in use. Out: a verdict for
 * each. Called when a Subnet, Vpc or node address changes. Rules: who is in force stays so against newcomers, of
 * newcomers the older wins; an edit that cannot be accepted leaves pods with the network they have.
 */
import { defaultVpc, joinSubnet, label, routerSwitchPort, switchRouterPort } from '../../../lib/api/names.ts';
import { routingOf } from '../../../lib/api/subnet-routing.ts';
import { portGroupPart } from '../names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, formatCidr, lastOf } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { byAge } from '../../state/objects.ts';
import type { Node, RemoteCluster, Subnet, TransitSwitch, Vpc } from '../../state/objects.ts';
import type { VlanVerdict } from '../underlay/judge-vlans.ts';
import { hasRouterPort, routingInForce } from '../underlay/underlay.ts';
import type { NetInForce } from '../underlay/underlay.ts';
import { vpcNameOf } from '../vpc/default-subnet.ts';
import { cidrText } from './accepted-note.ts';
import { interconnectOverlap, remoteOverlapOf, transitOverlapOf } from './remote-overlap.ts';
import { defineSubnet, gatewayIp } from './subnet-net.ts';
import type { SpecDefaults } from './subnet-net.ts';

export interface Verdict {
  /** The VPC the subnet is in, whether its spec was accepted or not. */
  readonly vpc: string;
  /** The network in force; rows exist for it. */
  readonly net: NetInForce | undefined;
  /** The spec with defaults, where it was accepted. */
  readonly spec: SpecDefaults | undefined;
  /** Whether new addresses are given. */
  readonly isOpen: boolean;
  /** Why the spec as it is was not accepted. */
  readonly problem: Problem | undefined;
}

export interface Evidence {
  readonly subnets: Iterable<Subnet>;
  readonly vpcs: ReadonlyMap<string, Vpc>;
  readonly vlans: ReadonlyMap<string, VlanVerdict>;
  readonly nodes: Iterable<Node>;
  readonly transitSwitches: ReadonlyMap<string, TransitSwitch>;
  readonly remoteClusters: ReadonlyMap<string, RemoteCluster>;
  /** Addresses by which pods reach the API server. */
  readonly apiServer: readonly string[];
  readonly inForce: ReadonlyMap<string, NetInForce>;
  /** Lowest and highest address in use, and whether one that is in use is this address. */
  readonly usage: (subnet: string, family: Family) => Usage | undefined;
  readonly defaultSubnet: string;
  /** Whether switches have load balancers unless their Subnet says otherwise. */
  readonly loadBalancers: boolean;
}

export interface Usage {
  readonly first: bigint;
  readonly last: bigint;
  has(value: bigint): boolean;
}

interface Place {
  readonly owner: string;
  readonly cidr: Cidr;
}

function partsOf(net: SubnetNet): readonly FamilyNet[] {
  return [net.v4, net.v6].filter((part) => part !== undefined);
}

/** Networks given to somebody, in order, so that an overlap is found by a binary search. */
class Places {
  readonly #sorted = new Map<Family, Place[]>();

  #index(list: readonly Place[], network: bigint): number {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((list[middle]?.cidr.network ?? 0n) < network) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  add(owner: string, net: SubnetNet): void {
    for (const { cidr } of partsOf(net)) {
      const list = this.#sorted.get(cidr.family) ?? [];
      list.splice(this.#index(list, cidr.network), 0, { owner, cidr });
      this.#sorted.set(cidr.family, list);
    }
  }

  /** Somebody else's network that overlaps. */
  overlap(owner: string, net: SubnetNet): Place | undefined {
    for (const { cidr } of partsOf(net)) {
      const list = this.#sorted.get(cidr.family) ?? [];
      const at = this.#index(list, cidr.network);
      // CIDRs nest or are apart: what overlaps begins inside, or is the nearest before that is not our own.
      for (let index = at; (list[index]?.cidr.network ?? lastOf(cidr) + 1n) <= lastOf(cidr); index += 1) {
        if (list[index]?.owner !== owner) return list[index];
      }
      for (let index = at - 1; index >= 0; index -= 1) {
        const place = list[index];
        if (place === undefined || place.owner === owner) continue;
        if (lastOf(place.cidr) >= cidr.network) return place;
        break;
      }
    }
    return undefined;
  }
}

/** Both ends of the patch between a subnet and its VPC: northd knows ports of switches and routers by one set of names. */
function patchOf(subnet: string, vpc: string): readonly string[] {
  return [routerSwitchPort(vpc, subnet), switchRouterPort(subnet, vpc)];
}

function isInside(net: SubnetNet, address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && partsOf(net).some(({ cidr }) => cidrContains(cidr, ip));
}

function containedProblem(net: SubnetNet, address: string, what: string): Problem {
  const message = `spec.cidrBlock ${cidrText(net)} contains ${address}, ${what}: choose a free CIDR`;
  return { code: 'CIDROverlap', message };
}

class Judge {
  readonly #evidence: Evidence;
  readonly #places = new Map<string, Places>();
  readonly #portGroupNames = new Map<string, string>([[portGroupPart('node'), 'the port groups of nodes']]);
  readonly #portNames = new Map<string, string>();
  readonly #nodes: readonly Node[];

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    this.#nodes = [...evidence.nodes];
  }

  all(): ReadonlyMap<string, Verdict> {
    const subnets = [...this.#evidence.subnets];
    const changed = subnets.filter((subnet) => !this.#isIncumbent(subnet) && this.#isInUse(subnet.name));
    for (const subnet of changed) this.#hold(subnet, subnet.name);
    // Of a Subnet that is gone while pods are still in it, by whoever's hand, nobody else gets the addresses.
    const names = new Set(subnets.map(({ name }) => name));
    for (const name of this.#evidence.inForce.keys())
      if (!names.has(name) && this.#isInUse(name)) this.#hold(undefined, name);
    const rank = (subnet: Subnet): number => (this.#isIncumbent(subnet) ? 0 : 1);
    subnets.sort((a, b) => rank(a) - rank(b) || byAge(a, b));
    return new Map(subnets.map((subnet) => [subnet.name, this.#judge(subnet)]));
  }

  #hold(subnet: Subnet | undefined, name: string): void {
    if (subnet !== undefined) this.#namePorts(name, vpcNameOf(subnet.spec));
    const net = this.#evidence.inForce.get(name);
    // Of a Subnet that is gone nobody knows the VPC any more: most are in the default one.
    if (net !== undefined) this.#give(name, vpcNameOf(subnet?.spec ?? { vpc: '' }), net);
  }

  #give(name: string, vpc: string, net: NetInForce): void {
    for (const places of this.#placesOf(vpc, net)) places.add(name, net);
  }

  #overlapOf(name: string, vpc: string, net: NetInForce): Place | undefined {
    return this.#placesOf(vpc, net)
      .map((places) => places.overlap(name, net))
      .find((place) => place !== undefined);
  }

  /** Where a network must be the only one of its addresses: in its VPC where that routes it, and in its VLAN. */
  #placesOf(vpc: string, net: NetInForce): readonly Places[] {
    const { underlay } = net;
    return [
      ...(hasRouterPort(net) ? [this.#placesIn(vpc)] : []),
      // No VPC can have such a name.
      ...(underlay === undefined ? [] : [this.#placesIn(`${underlay.provider}/${underlay.vlan}`)]),
    ];
  }

  #namePorts(name: string, vpc: string): void {
    for (const port of patchOf(name, vpc)) this.#portNames.set(port, name);
  }

  /** Networks in use in a VPC or VLAN; those of different ones may overlap. */
  #placesIn(scope: string): Places {
    const places = this.#places.get(scope) ?? new Places();
    this.#places.set(scope, places);
    return places;
  }

  #isIncumbent(subnet: Subnet): boolean {
    const net = this.#evidence.inForce.get(subnet.name);
    if (net === undefined || cidrText(net) !== subnet.spec.cidrBlock) return false;
    if (routingInForce(net) !== routingOf(subnet.spec)) return false;
    const vlan = this.#evidence.vlans.get(subnet.spec.vlan);
    return vlan === undefined || (vlan.provider === net.underlay?.provider && vlan.id === net.underlay.vlan);
  }

  #isInUse(name: string): boolean {
    return this.#evidence.usage(name, 4) !== undefined || this.#evidence.usage(name, 6) !== undefined;
  }

  #judge(subnet: Subnet): Verdict {
    const vpc = vpcNameOf(subnet.spec);
    const defined = defineSubnet(subnet, this.#evidence);
    const problem = 'problem' in defined ? defined.problem : this.#conflictOf(subnet, defined.value.net);
    if (problem === undefined && 'value' in defined) {
      const { spec } = defined.value;
      const net = this.#apartFromNodes(defined.value.net);
      this.#give(subnet.name, vpc, net);
      this.#portGroupNames.set(portGroupPart(subnet.name), `subnet ${subnet.name}`);
      this.#namePorts(subnet.name, vpc);
      // A node that comes while `join` is being deleted must not wait for all the others to go.
      const isOpen = !subnet.isDeleting || subnet.name === joinSubnet;
      const hasDefault = this.#evidence.loadBalancers && subnet.name !== joinSubnet;
      const balanced = hasDefault ? { ...spec, enableLb: subnet.spec.enableLb ?? true } : spec;
      return { vpc, net, spec: balanced, isOpen, problem: undefined };
    }
    const isKept = !this.#isInUse(subnet.name) && this.#isKept(subnet, problem);
    if (isKept) this.#hold(subnet, subnet.name);
    const net = isKept || this.#isInUse(subnet.name) ? this.#evidence.inForce.get(subnet.name) : undefined;
    if (net !== undefined && !isKept && this.#isIncumbent(subnet)) this.#give(subnet.name, vpc, net);
    return { vpc, net, spec: undefined, isOpen: false, problem };
  }

  /** Nodes may be in the LAN of an underlay subnet: their addresses are not for pods. */
  #apartFromNodes(net: NetInForce): NetInForce {
    if (net.underlay === undefined) return net;
    const ips = this.#nodes.flatMap(({ addresses }) => addresses.flatMap((text) => parseIp(text) ?? []));
    const apart = (part: FamilyNet): FamilyNet => {
      const inside = ips.filter((ip) => cidrContains(part.cidr, ip)).map(({ value }) => value);
      const foreign = [...new Set(inside)].sort((a, b) => (a < b ? -1 : 1));
      return foreign.length === 0 ? part : { ...part, foreign };
    };
    return { ...net, ...(net.v4 && { v4: apart(net.v4) }), ...(net.v6 && { v6: apart(net.v6) }) };
  }

  /** Other clusters go on reaching the network that an edit would have left, also while nobody is in it. */
  #isKept(subnet: Subnet, problem: Problem | undefined): boolean {
    const net = this.#evidence.inForce.get(subnet.name);
    if (net === undefined || problem?.code !== interconnectOverlap) return false;
    return this.#overlapOf(subnet.name, vpcNameOf(subnet.spec), net) === undefined;
  }

  #conflictOf(subnet: Subnet, net: NetInForce): Problem | undefined {
    const { name } = subnet;
    const vpc = vpcNameOf(subnet.spec);
    if (name === defaultVpc) {
      return { code: 'NameConflict', message: `${name} is the name of the Vpc: choose another name` };
    }
    if (name === vpc) {
      const message = `${name} is the name of its Vpc too, and both ends of the patch between them would be called ${switchRouterPort(name, vpc)}: choose another name`;
      return { code: 'NameConflict', message };
    }
    const holder = this.#portGroupNames.get(portGroupPart(name));
    if (holder !== undefined) {
      return {
        code: 'NameConflict',
        message: `the name ${name} makes the same OVN port group names as ${holder}: choose another name`,
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

  /** Or of one of its paths, each of which is a logical switch. */
  #isTransitSwitch(name: string): boolean {
    const { transitSwitches } = this.#evidence;
    return transitSwitches.has(name) || transitSwitches.values().some(({ paths }) => paths.includes(name));
  }

  /** With what is there besides subnets. */
  #surroundingConflictOf(subnet: Subnet, net: NetInForce): Problem | undefined {
    const { name } = subnet;
    const usage = this.#usageConflictOf(name, net);
    const isNew = !this.#isIncumbent(subnet);
    const remote = isNew && hasRouterPort(net) ? this.#remoteConflictOf(subnet, net) : undefined;
    // Other VPCs have no way to nodes that an overlap could spoil.
    if (vpcNameOf(subnet.spec) !== defaultVpc) return remote ?? usage;
    const api = isNew ? this.#apiConflictOf(net) : undefined;
    const node = net.underlay === undefined ? this.#nodeConflictOf(net) : undefined;
    return remote ?? api ?? node ?? usage;
  }

  /** For newcomers only: a subnet that was there first is the interconnect's to avoid. */
  #remoteConflictOf(subnet: Subnet, net: SubnetNet): Problem | undefined {
    const inForce = this.#evidence.inForce.get(subnet.name);
    return transitOverlapOf(subnet, net, this.#evidence) ?? remoteOverlapOf(subnet, net, inForce, this.#evidence);
  }

  #apiConflictOf(net: SubnetNet): Problem | undefined {
    const address = this.#evidence.apiServer.find((one) => isInside(net, one));
    return address === undefined ? undefined : containedProblem(net, address, 'the address of Service kubernetes');
  }

  #nodeConflictOf(net: SubnetNet): Problem | undefined {
    for (const node of this.#nodes) {
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
        : `addresses in use are not in spec.cidrBlock ${cidrText(net)}: delete those pods first, or go back`;
      // Not the pods by name: with each that goes the sentence would be another, and be told again.
      const message = `${what}; kubectl get ips -l ${label.subnet}=${name} lists them`;
      return { code: 'AddressesInUse', message };
    }
    return undefined;
  }
}

export function judgeSubnets(evidence: Evidence): ReadonlyMap<string, Verdict> {
  return new Judge(evidence).all();
}
