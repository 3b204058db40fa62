import { type BgpPeerSpec, limitRestartSeconds, mostImportedPrefixes } from '../api/kinds/bgp-peer.ts';
import type { LabelSelector } from '../api/kinds/shared.ts';
import { matchesSelector } from '../api/label-selector.ts';
import { defaultVpc } from '../api/names.ts';
import type { Problem } from '../desired/problem.ts';
import { isLinkLocal, parseIp } from '../net/ip.ts';
import { unusableAs } from '../net/router-address.ts';
import { type Family, familyOfAddress, nodeAddress } from './family.ts';
import type { BgpPeer, BgpState, Node } from './objects.ts';
import type { WantedInstance } from './instance.ts';
import { neighborOf, splitLinkLocal } from './neighbor.ts';
import { byAge } from './order.ts';

/** A neighbour with which this node has a session. */
export interface AcceptedPeer {
  /** Name of the BgpPeer. */
  readonly name: string;
  /** For a peer on an interface the link-local address: `fe80::1%eth1`. */
  readonly address: string;
  /** Undefined: the BgpPeer names the address itself. */
  readonly interface: string | undefined;
  /** Problem of the neighbour on the interface; a session may exist nevertheless. */
  readonly neighborProblem: Problem | undefined;
  readonly asn: number;
  /** Our AS, if it differs from the instance's. */
  readonly localAsn: number | undefined;
  readonly isInternal: boolean;
  readonly sourceAddress: string | undefined;
  /** Why no session can use the source address now. */
  readonly sourceProblem: Problem | undefined;
  readonly families: readonly Family[];
  /** Our next hop in families other than the session's own, in which the session has no address. */
  readonly nextHops: Readonly<Partial<Record<Family, string>>>;
  readonly port: number;
  readonly isPassive: boolean;
  readonly ebgpMultihopTtl: number;
  readonly ttlSecurityHops: number | undefined;
  readonly holdTimeSeconds: number;
  readonly keepaliveSeconds: number;
  readonly connectRetrySeconds: number;
  /** Undefined: not offered. */
  readonly gracefulRestart:
    | { readonly restartTimeSeconds: number; readonly longLivedStaleSeconds: number | undefined }
    | undefined;
  readonly bfd: BgpPeerSpec['bfd'];
  readonly isReflectorClient: boolean;
  readonly maximumPrefixes: BgpPeerSpec['maximumPrefixes'];
  /** The limit that the BgpPeer requests, by its own field or by its import; the limit in force may be lower. */
  readonly askedLimit: AskedLimit | undefined;
  readonly import: BgpPeerSpec['import'];
  /** Name of a Secret and key in it. */
  readonly passwordSecretRef: BgpPeerSpec['passwordSecretRef'];
  readonly advertisements: LabelSelector;
}

export interface AskedLimit {
  readonly limit: number;
  readonly field: string;
}

export interface PlannedPeers {
  /** By address. */
  readonly peers: ReadonlyMap<string, AcceptedPeer>;
  /** By name of the BgpPeer. */
  readonly problems: ReadonlyMap<string, Problem>;
  /** Links of this node with a peer, even if its neighbour is not found yet: link → name of the BgpPeer. */
  readonly interfaces: ReadonlyMap<string, string>;
}

/** Peers of this node, and problems of peers that are not accepted. Peers that belong only to other nodes are in neither. */
export function planPeers(state: BgpState, instance: WantedInstance | undefined): PlannedPeers {
  const peers = new Map<string, AcceptedPeer>();
  const problems = new Map<string, Problem>();
  const interfaces = new Map<string, string>();
  for (const peer of [...state.peers.values()].toSorted(byAge)) {
    const problem = objectProblem(state, peer);
    if (problem) {
      problems.set(peer.name, problem);
    } else if ('value' in peer.spec && isPeerSelecting(peer, state.nodes.get(state.node), instance?.name)) {
      const { value } = peer.spec;
      const unusable =
        duplicateInterface(interfaces, value, state.node) ??
        listenProblem(value, instance) ??
        internalProblem(value, instance) ??
        nextHopProblem(state, value) ??
        importProblem(value);
      if (!unusable && value.interface !== undefined) interfaces.set(value.interface, peer.name);
      const { address, ownAddress, problem: unclear } = neighborOf(state, value);
      const misplaced =
        address === undefined ? unclear : (nodeProblem(state, address) ?? duplicate(peers, address, state.node));
      const problem = unusable ?? misplaced;
      if (problem) problems.set(peer.name, problem);
      else if (address !== undefined)
        peers.set(address, {
          ...acceptedPeer(peer.name, value, address, instance, state),
          sourceAddress: ownAddress ?? value.sourceAddress,
          sourceProblem: sourceProblem(state, value),
          neighborProblem: unclear,
        });
    }
  }
  return { peers, problems, interfaces };
}

/** Problem of a peer that is the same on every node. */
export function objectProblem(state: BgpState, { spec }: BgpPeer): Problem | undefined {
  if ('problem' in spec) return spec.problem;
  const { address, sourceAddress, interface: device, instance } = spec.value;
  if ((address === undefined) === (device === undefined))
    return { code: 'InvalidSpec', message: 'give either spec.address or spec.interface; correct the object' };
  const problem = address === undefined ? undefined : addressProblem(address, sourceAddress);
  if (problem) return problem;
  if (!state.instances.has(instance)) {
    return {
      code: 'UnknownInstance',
      message: `there is no BgpInstance '${instance}'; create it or change spec.instance`,
    };
  }
  return undefined;
}

function addressProblem(address: string, sourceAddress: string | undefined): Problem | undefined {
  const code = 'InvalidAddress';
  const ip = parseIp(address);
  if (!ip) return { code, message: `address '${address}' is not an IP address` };
  const use = unusableAs(ip);
  const remedy = isLinkLocal(ip) ? 'name its link in spec.interface' : "give the router's own address";
  if (use !== undefined)
    return { code, message: `address ${address} is ${use} and cannot be that of a neighbour; ${remedy}` };
  if (sourceAddress === undefined) return undefined;
  const source = parseIp(sourceAddress);
  if (source?.family !== ip.family)
    return { code, message: `sourceAddress '${sourceAddress}' is not an IP address of the family of ${address}` };
  const sourceUse = unusableAs(source);
  if (sourceUse === undefined) return undefined;
  return { code, message: `sourceAddress ${sourceAddress} is ${sourceUse}; give an address of the node` };
}

/** Whether the peer selects the node, given the node's instance. */
export function isPeerSelecting({ spec }: BgpPeer, node: Node | undefined, instance: string | undefined): boolean {
  if (!node || 'problem' in spec) return false;
  return spec.value.instance === instance && matchesSelector(spec.value.nodeSelector, node.labels);
}

/** Does not end an existing session, because the address may return. */
function sourceProblem({ node, ownAddresses }: BgpState, { sourceAddress }: BgpPeerSpec): Problem | undefined {
  if (sourceAddress === undefined || ownAddresses?.has(sourceAddress) !== false) return undefined;
  return {
    code: 'SourceAddressNotFound',
    message: `node ${node} has no address ${sourceAddress}; give one that each selected node has in spec.sourceAddress, or leave the node out by nodeSelector`,
  };
}

function nodeProblem(state: BgpState, address: string): Problem | undefined {
  const isOwn = state.nodes.get(state.node)?.addresses.includes(address) === true || state.ownAddresses?.has(address);
  if (isOwn !== true) return undefined;
  return {
    code: 'OwnAddress',
    message: `address ${address} is node ${state.node} itself; give the router's address or leave the node out by nodeSelector`,
  };
}

function duplicate(peers: ReadonlyMap<string, AcceptedPeer>, address: string, node: string): Problem | undefined {
  const code = 'DuplicateAddress';
  const taken = peers.get(address);
  if (taken)
    return {
      code,
      message: `node ${node} already has ${address} by the older BgpPeer ${taken.name}; delete one of the two or make their nodeSelectors disjoint`,
    };
  const ip = splitLinkLocal(address)?.ip;
  const alike = [...peers.values()].find((each) => ip !== undefined && splitLinkLocal(each.address)?.ip === ip);
  if (!alike) return undefined;
  return {
    code,
    message: `the router of the older BgpPeer ${alike.name} on ${alike.interface} of node ${node} has the link-local address ${ip} too, and gobgpd's policies do not tell links apart; give one of the routers another link-local address`,
  };
}

function duplicateInterface(
  taken: ReadonlyMap<string, string>,
  { interface: device }: BgpPeerSpec,
  node: string,
): Problem | undefined {
  const older = device === undefined ? undefined : taken.get(device);
  if (older === undefined) return undefined;
  return {
    code: 'DuplicateInterface',
    message: `node ${node} already has a peer on ${device} by the older BgpPeer ${older}; delete one of the two or make their nodeSelectors disjoint`,
  };
}

function listenProblem({ passive }: BgpPeerSpec, instance: WantedInstance | undefined): Problem | undefined {
  if (!passive || instance === undefined || instance.listenPort > 0) return undefined;
  return {
    code: 'NotListening',
    message: `the peer is passive and BgpInstance ${instance.name} does not listen, so neither side opens the session; give the instance a listenPort or remove spec.passive`,
  };
}

function internalProblem(spec: BgpPeerSpec, instance: WantedInstance | undefined): Problem | undefined {
  const ours = spec.localASN ?? instance?.asn;
  if (!spec.routeReflectorClient || ours === undefined || spec.asn === ours) return undefined;
  return {
    code: 'NotInternal',
    message: `a route reflector client has our own AS ${ours}, and this peer has ${spec.asn}; take routeReflectorClient away or change asn`,
  };
}

/** A session has an address of the node only in its own family. */
function nextHopProblem(state: BgpState, spec: BgpPeerSpec): Problem | undefined {
  const missing = foreignFamilies(spec).find((family) => nextHopOf(state, family) === undefined);
  if (missing === undefined) return undefined;
  return {
    code: 'NoNextHop',
    message: `node ${state.node} has no InternalIP of family ${missing} to be the next hop of ${missing} prefixes; give it one or take ${missing} out of families`,
  };
}

function importProblem(spec: BgpPeerSpec): Problem | undefined {
  const vpc = spec.import?.vpc;
  if (vpc === undefined || vpc === defaultVpc) return undefined;
  return {
    code: 'VpcNotRouted',
    message: `import.vpc is ${vpc}; nodes have routes into ${defaultVpc} only: set import.vpc to it`,
  };
}

/**
 * A router that sends far more prefixes than expected wastes memory and time. The maximum also applies to objects that are older
 * than the maximum.
 */
function prefixLimit(spec: BgpPeerSpec): BgpPeerSpec['maximumPrefixes'] {
  const limit = askedLimit(spec)?.limit;
  if (limit === undefined) return undefined;
  const { restartSeconds = limitRestartSeconds } = spec.maximumPrefixes ?? {};
  return { limit: spec.import === undefined ? limit : Math.min(limit, mostImportedPrefixes), restartSeconds };
}

function askedLimit({ import: wanted, maximumPrefixes }: BgpPeerSpec): AskedLimit | undefined {
  if (maximumPrefixes !== undefined) return { limit: maximumPrefixes.limit, field: 'spec.maximumPrefixes.limit' };
  return wanted && { limit: 10 * wanted.maxPrefixes, field: '10 times spec.import.maxPrefixes' };
}

/** Families whose next hop is not our address on the session. With an extended next hop that address also serves IPv4. */
function foreignFamilies({ address, families = [], extendedNextHop }: BgpPeerSpec): readonly Family[] {
  if (address === undefined) return [];
  return families.filter((family) => family !== familyOfAddress(address) && !(family === 'ipv4' && extendedNextHop));
}

function nextHopOf(state: BgpState, family: Family): string | undefined {
  return nodeAddress(state.nodes.get(state.node), family);
}

function acceptedPeer(
  name: string,
  spec: BgpPeerSpec,
  address: string,
  instance: WantedInstance | undefined,
  state: BgpState,
): Omit<AcceptedPeer, 'sourceAddress' | 'sourceProblem' | 'neighborProblem'> {
  const nextHops = foreignFamilies(spec).map((family) => [family, nextHopOf(state, family)] as const);
  return {
    name,
    address,
    interface: spec.interface,
    asn: spec.asn,
    localAsn: spec.localASN === instance?.asn ? undefined : spec.localASN,
    isInternal: spec.asn === (spec.localASN ?? instance?.asn),
    families: familiesOf(spec),
    nextHops: Object.fromEntries(nextHops),
    port: spec.port,
    isPassive: spec.passive,
    ebgpMultihopTtl: spec.ebgpMultihopTTL,
    ttlSecurityHops: spec.ttlSecurityHops,
    holdTimeSeconds: spec.holdTimeSeconds,
    keepaliveSeconds: spec.keepaliveSeconds,
    connectRetrySeconds: spec.connectRetrySeconds,
    gracefulRestart: gracefulRestartOf(spec, instance),
    bfd: spec.bfd,
    isReflectorClient: spec.routeReflectorClient,
    maximumPrefixes: prefixLimit(spec),
    askedLimit: askedLimit(spec),
    import: spec.import,
    passwordSecretRef: spec.passwordSecretRef,
    advertisements: spec.advertisements,
  };
}

function familiesOf({ address, families }: BgpPeerSpec): readonly Family[] {
  return families?.toSorted() ?? (address === undefined ? ['ipv4', 'ipv6'] : [familyOfAddress(address)]);
}

function gracefulRestartOf(
  { gracefulRestart: own }: BgpPeerSpec,
  instance: WantedInstance | undefined,
): AcceptedPeer['gracefulRestart'] {
  if (own !== undefined) {
    const { restartTimeSeconds, longLivedStaleSeconds } = own;
    return own.enabled ? { restartTimeSeconds, longLivedStaleSeconds } : undefined;
  }
  const restartTimeSeconds = instance?.restartTimeSeconds;
  return restartTimeSeconds === undefined ? undefined : { restartTimeSeconds, longLivedStaleSeconds: undefined };
}
