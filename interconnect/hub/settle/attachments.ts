/**
 * The networks that a member takes part in, and their definitions. In: a member's request for one network and the present
 * network. Out: whether it takes part, a new definition of the network if that changes, and problems. Pure. The
 * first member to name a network defines it; a member that takes part keeps its part when others change the network.
 */
import { cidrSize, cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf } from '../../../lib/net/ip.ts';
import type { Attachment, HeldPort, Rejection } from '../../model/messages.ts';
import { mostPaths, switchNames } from '../../model/path-names.ts';
import { clusterName, type Network, type NetworkDefinition } from '../model/record.ts';
import { isLegible } from './legible.ts';
import { checkCidrs, networkOfPath, pathIndex } from '../model/paths.ts';

const networkName = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
/** Candidates that are tried for a network whose addresses the hub chooses. */
const mostCandidates = 4096;
/** Ends, ports held, addresses and clusters in one request; gateways of one end. */
const most = { ends: 64, held: 64, cidrs: 8, clusters: 1024, gateways: 64 } as const;

export interface AttachmentFacts {
  readonly network: Network | undefined;
  readonly networks: readonly Network[];
  /** The hub's own: its size and paths are the defaults of networks. */
  readonly standard: NetworkDefinition;
  /** Whether it takes part already. */
  readonly isAttached: boolean;
  /** Ports that it reports or that were recorded for it. */
  readonly claimed: readonly HeldPort[];
  /** A prefix that some member offers, on any network, and that overlaps. */
  prefixWithin(cidr: Cidr): { readonly cidr: Cidr; readonly holder: string } | undefined;
  /** Whether IC-NB has a switch of this name that is not the hub's. */
  isForeignSwitch(name: string): boolean;
}

export interface Resolution {
  readonly isAttached: boolean;
  /** The new definition of the network, where it changes. */
  readonly definition?: NetworkDefinition;
  readonly rejections: readonly Rejection[];
}

export function resolveAttachment(cluster: string, request: Attachment, facts: AttachmentFacts): Resolution {
  const { network } = facts;
  const malformed = malformationOf(request);
  if (malformed !== undefined) {
    const message = `this cluster's part in transit switch ${request.transitSwitch} cannot be read: ${malformed}`;
    return refuse(request, 'AttachmentInvalid', message);
  }
  const wrong = request.clusters.find((name) => !clusterName.test(name));
  if (wrong !== undefined) {
    // Without the name, an empty list could remain, which admits every cluster.
    const message = `clusters of transit switch ${request.transitSwitch}: "${wrong}" is not a name of a cluster; correct the list`;
    return { ...refuse(request, 'TransitSwitchInvalid', message), isAttached: facts.isAttached };
  }
  const isOpen = network?.definedBy === '' && network.name !== facts.standard.name;
  if (
    network === undefined ||
    network.definedBy === cluster ||
    (isOpen && mayClaim(cluster, request, network, facts))
  ) {
    if (request.clusters.length === 0 || request.clusters.includes(cluster))
      return network === undefined ? define(cluster, request, facts) : redefine(cluster, request, network, facts);
    const message = `clusters of transit switch ${request.transitSwitch} leave out ${cluster}, which defines it; list ${cluster} too`;
    return { ...refuse(request, 'TransitSwitchInvalid', message), isAttached: facts.isAttached };
  }
  const name = network.name;
  const definer = isOpen ? 'a cluster that has left' : network.definedBy === '' ? 'the hub' : network.definedBy;
  if (network.clusters.length > 0 && !network.clusters.includes(cluster)) {
    const message = isOpen
      ? `transit switch ${name} is for ${network.clusters.join(', ')}, and the cluster that defined it has left; one of these must add ${cluster} to its list of clusters`
      : `${definer}, which defined transit switch ${name}, does not list ${cluster} among its clusters; add it there`;
    return refuse(request, 'ClusterNotListed', message, network.definedBy);
  }
  const difference = differenceOf(request, network);
  if (difference === undefined) return { isAttached: true, rejections: [] };
  const way = isOpen
    ? 'remove that, or define the transit switch by setting both its clusters and paths'
    : 'remove that, or set the same';
  const message = `transit switch ${name} was defined by ${definer} with ${difference}; ${way}`;
  return { ...refuse(request, 'TransitSwitchDiffers', message, network.definedBy), isAttached: facts.isAttached };
}

/** Why databases or people could not read the request; undefined if they can. */
function malformationOf({ vpc, routerId, ends, held, cidrs, clusters }: Attachment): string | undefined {
  if (!isLegible(vpc)) return 'the name of its VPC is too long or has control characters';
  if (!isLegible(routerId)) return 'the id of its router is too long or has control characters';
  if (ends.length > most.ends) return `it has ${ends.length} ends of paths; at most ${most.ends} are allowed`;
  if (ends.some(({ gateways }) => gateways.length > most.gateways))
    return `an end of a path has more than ${most.gateways} gateways`;
  if (held.length > most.held) return `it holds ${held.length} ports; at most ${most.held} are allowed`;
  if (cidrs.length > most.cidrs) return `it names ${cidrs.length} networks; at most one per IP family is allowed`;
  if (clusters.length > most.clusters)
    return `it lists ${clusters.length} clusters; at most ${most.clusters} are allowed`;
  return undefined;
}

/**
 * A member that claims a network whose definer has left must name its restrictions again: those that its request leaves
 * out would be lost.
 */
function mayClaim(cluster: string, request: Attachment, network: Network, { standard }: AttachmentFacts): boolean {
  const { clusters, paths } = network;
  const isListed = clusters.length === 0 || (clusters.includes(cluster) && request.clusters.length > 0);
  return isListed && (request.paths > 0 || paths === standard.paths);
}

function define(cluster: string, request: Attachment, facts: AttachmentFacts): Resolution {
  const name = request.transitSwitch;
  if (!networkName.test(name))
    return refuse(
      request,
      'TransitSwitchInvalid',
      `"${name}" is not a name for a transit switch: up to 32 of a-z, 0-9, "-"`,
    );
  const names = new Set(switchNames(name));
  for (const other of facts.networks) {
    const clash = switchNames(other.name).find((one) => names.has(one));
    if (clash === undefined) continue;
    const message = `paths of transit switches ${name} and ${other.name} would both be called ${clash}; choose another name`;
    return refuse(request, 'TransitSwitchNameTaken', message, other.definedBy);
  }
  const foreign = [...names].find((one) => facts.isForeignSwitch(one));
  if (foreign !== undefined) {
    const message = `a transit switch ${foreign} that this hub did not make is in the northbound interconnect database; choose another name`;
    return refuse(request, 'TransitSwitchNameTaken', message);
  }
  const cidrs = chooseCidrs(request, facts);
  if (typeof cidrs === 'string') return refuse(request, 'TransitNetworkInvalid', cidrs);
  return {
    isAttached: true,
    definition: { name, cidrs, definedBy: cluster, ...sizeOf(request, facts) },
    rejections: [],
  };
}

/** By the member that defined it: paths and clusters may change, addresses may not, because ports have them. */
function redefine(cluster: string, request: Attachment, network: Network, facts: AttachmentFacts): Resolution {
  const { name, cidrs } = network;
  const definition: NetworkDefinition = { name, cidrs, definedBy: cluster, ...sizeOf(request, facts) };
  const { paths, clusters, definedBy } = network;
  const isSame = JSON.stringify(definition) === JSON.stringify({ name, cidrs, definedBy, clusters, paths });
  const changed = isSame ? {} : { definition };
  if (request.cidrs.length === 0 || String(checkCidrs(request.cidrs)) === cidrs.join()) {
    return { isAttached: true, ...changed, rejections: [] };
  }
  const message = `transit switch ${name} has ${cidrs.join(',')}, which cannot change while clusters take part; create another one with ${request.cidrs.join(',')}`;
  return { ...refuse(request, 'TransitNetworkFixed', message), isAttached: true, ...changed };
}

function differenceOf(request: Attachment, network: Network): string | undefined {
  const has = network.cidrs.join(',');
  if (request.cidrs.length > 0 && String(checkCidrs(request.cidrs)) !== network.cidrs.join())
    return `${has}, not ${request.cidrs.join(',')}`;
  if (request.paths !== 0 && request.paths !== network.paths) return `${network.paths} paths, not ${request.paths}`;
  if (request.clusters.length > 0 && sorted(request.clusters).join() !== network.clusters.join())
    return network.clusters.length === 0
      ? 'all clusters, not a list of them'
      : `clusters ${network.clusters.join(', ')}, not ${request.clusters.join(', ')}`;
  return undefined;
}

function sizeOf(request: Attachment, { standard }: AttachmentFacts): Pick<NetworkDefinition, 'clusters' | 'paths'> {
  const paths = request.paths === 0 ? standard.paths : Math.min(request.paths, mostPaths);
  return { clusters: sorted(request.clusters), paths };
}

/** As requested; else as the member's ports show; else the next free network of the size of the hub's own. */
function chooseCidrs(request: Attachment, facts: AttachmentFacts): readonly string[] | string {
  const taken = facts.networks.flatMap((network) => network.cidrs.map((cidr) => ({ cidr, name: network.name })));
  if (request.cidrs.length > 0) {
    const cidrs = checkCidrs(request.cidrs);
    if (typeof cidrs === 'string') return cidrs;
    const clash = taken.find(({ cidr }) => cidrs.some((one) => overlap(one, cidr)));
    if (clash !== undefined) return `${cidrs.join(',')} overlaps ${clash.cidr} of transit switch ${clash.name}`;
    // Routers have the addresses of a transit switch as their own: the part of a prefix that it covers could not be
    // reached any more.
    const held = cidrs.map((text) => withinPrefix(text, facts)).find((found) => found !== undefined);
    return held === undefined ? cidrs : `${cidrs.join(',')} overlaps ${formatCidr(held.cidr)} of ${held.holder}`;
  }
  const held = cidrsOfPorts(request.transitSwitch, facts.claimed);
  if (held !== undefined && !taken.some(({ cidr }) => held.some((one) => overlap(one, cidr)))) return held;
  const used = [...taken.map(({ cidr }) => cidr), ...request.prefixes.map(({ cidr }) => cidr)];
  const chosen = facts.standard.cidrs.map((cidr) => nextFree(cidr, used, facts));
  const found = chosen.filter((cidr) => cidr !== undefined);
  if (found.length === chosen.length) return found;
  return `no free network of the size of ${facts.standard.cidrs.join(',')} is left for transit switch ${request.transitSwitch}; set its cidr`;
}

/** The network that these ports are of, where they are of this transit switch. */
export function cidrsOfPorts(network: string, ports: readonly HeldPort[]): readonly string[] | undefined {
  for (const port of ports) {
    const index = pathIndex(network, port.switch);
    if (index === undefined) continue;
    const cidrs = port.networks.map((text) => networkOfPath(text, index));
    const found = cidrs.filter((cidr) => cidr !== undefined);
    if (found.length === 0 || found.length !== cidrs.length) continue;
    const checked = checkCidrs(found);
    if (typeof checked !== 'string') return checked;
  }
  return undefined;
}

function withinPrefix(text: string, facts: AttachmentFacts): ReturnType<AttachmentFacts['prefixWithin']> {
  const cidr = parseCidr(text);
  return cidr === undefined ? undefined : facts.prefixWithin(cidr);
}

function nextFree(like: string, used: readonly string[], facts: AttachmentFacts): string | undefined {
  const first = parseCidr(like);
  if (first === undefined) return undefined;
  const size = cidrSize(first);
  const end = 1n << BigInt(bitsOf(first.family));
  const others = used.flatMap((text) => parseCidr(text) ?? []);
  let network = first.network + size;
  for (let tries = 0; tries < mostCandidates && network + size <= end; tries += 1, network += size) {
    const candidate: Cidr = { ...first, network };
    const isFree =
      !others.some((other) => cidrsOverlap(other, candidate)) && facts.prefixWithin(candidate) === undefined;
    if (isFree) return formatCidr(candidate);
  }
  return undefined;
}

function overlap(a: string, b: string): boolean {
  const [one, other] = [parseCidr(a), parseCidr(b)];
  return one !== undefined && other !== undefined && cidrsOverlap(one, other);
}

function refuse(request: Attachment, code: string, message: string, holder = ''): Resolution {
  const { transitSwitch } = request;
  const rejection: Rejection = { kind: 'transit-switch', value: transitSwitch, code, message, holder, transitSwitch };
  return { isAttached: false, rejections: [rejection] };
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
