import type { BgpPeerSpec } from '../api/kinds/bgp-peer.ts';
import type { LabelSelector } from '../api/kinds/shared.ts';
import type { Problem } from '../desired/problem.ts';
import { cidrContains, parseCidr } from '../net/cidr.ts';
import { type Ip, parseIp } from '../net/ip.ts';
import type { BgpPeer, Node, BgpState } from './objects.ts';
import type { WantedInstance } from './instance.ts';
import { byAge } from './order.ts';
import { type Password, passwordOf } from './passwords.ts';
import { matchesSelector } from '../api/label-selector.ts';

/** A neighbour this node has a session with. */
export interface AcceptedPeer {
  /** Name of the BgpPeer. */
  readonly name: string;
  readonly address: string;
  readonly family: 4 | 6;
  readonly asn: number;
  /** Ours, where it is another than the instance's. */
  readonly localAsn: number | undefined;
  readonly password: Password | undefined;
  readonly port: number;
  readonly isPassive: boolean;
  readonly ebgpMultihopTtl: number;
  readonly ttlSecurityHops: number | undefined;
  readonly holdTimeSeconds: number;
  readonly keepaliveSeconds: number;
  readonly advertisements: LabelSelector;
}

/** Peers of this node by address, and why others are not among them. A peer that other nodes have is neither. */
export function planPeers(
  state: BgpState,
  instance: WantedInstance | undefined,
): { readonly peers: ReadonlyMap<string, AcceptedPeer>; readonly problems: ReadonlyMap<string, Problem> } {
  const peers = new Map<string, AcceptedPeer>();
  const problems = new Map<string, Problem>();
  for (const peer of [...state.peers.values()].toSorted(byAge)) {
    const problem = objectProblem(state, peer);
    if (problem) {
      problems.set(peer.name, problem);
    } else if ('value' in peer.spec && isPeerSelecting(peer, state.nodes.get(state.node), instance?.name)) {
      const { value } = peer.spec;
      const unusable =
        nodeProblem(state, value.address) ??
        duplicate(peers.get(value.address), value.address, state.node) ??
        listenProblem(value, instance);
      if (unusable) problems.set(peer.name, unusable);
      else peers.set(value.address, acceptedPeer(peer.name, value, instance, passwordOf(state, value)));
    }
  }
  return { peers, problems };
}

/** What is wrong with a peer on every node alike. */
export function objectProblem(state: BgpState, { spec }: BgpPeer): Problem | undefined {
  if ('problem' in spec) return spec.problem;
  const { address, instance } = spec.value;
  const ip = parseIp(address);
  if (!ip) return { code: 'InvalidAddress', message: `address '${address}' is not an IP address` };
  const unusable = unusableRange(ip);
  if (unusable)
    return {
      code: 'InvalidAddress',
      message: `address ${address} is ${unusable} and cannot be a neighbour; give the router's own address`,
    };
  if (!state.instances.has(instance)) {
    return {
      code: 'UnknownInstance',
      message: `there is no BgpInstance '${instance}'; create it or change spec.instance`,
    };
  }
  return undefined;
}

const unusableRanges = [
  ['0.0.0.0/32', 'unspecified'],
  ['::/128', 'unspecified'],
  ['224.0.0.0/4', 'a multicast address'],
  ['ff00::/8', 'a multicast address'],
  ['255.255.255.255/32', 'the broadcast address'],
  ['fe80::/10', 'a link-local address'],
] as const;

function unusableRange(ip: Ip): string | undefined {
  return unusableRanges.find(([range]) => {
    const cidr = parseCidr(range);
    return cidr && cidrContains(cidr, ip);
  })?.[1];
}

/** Whether the peer belongs to the node, given the instance that holds the node. */
export function isPeerSelecting({ spec }: BgpPeer, node: Node | undefined, instance: string | undefined): boolean {
  if (!node || 'problem' in spec) return false;
  return spec.value.instance === instance && matchesSelector(spec.value.nodeSelector, node.labels);
}

function nodeProblem(state: BgpState, address: string): Problem | undefined {
  if (!state.nodes.get(state.node)?.addresses.includes(address)) return undefined;
  return {
    code: 'OwnAddress',
    message: `address ${address} is node ${state.node} itself; give the router's address or leave the node out by nodeSelector`,
  };
}

function duplicate(taken: AcceptedPeer | undefined, address: string, node: string): Problem | undefined {
  if (!taken) return undefined;
  return {
    code: 'DuplicateAddress',
    message: `node ${node} already has ${address} by the older BgpPeer ${taken.name}; delete one of the two or make their nodeSelectors disjoint`,
  };
}

function listenProblem({ passive }: BgpPeerSpec, instance: WantedInstance | undefined): Problem | undefined {
  if (!passive || instance === undefined || instance.listenPort > 0) return undefined;
  return {
    code: 'NotListening',
    message: `the peer is passive and BgpInstance ${instance.name} does not listen, so nobody opens the session; give the instance a listenPort or take spec.passive away`,
  };
}

function acceptedPeer(
  name: string,
  spec: BgpPeerSpec,
  instance: WantedInstance | undefined,
  password: Password | undefined,
): AcceptedPeer {
  return {
    name,
    address: spec.address,
    family: spec.address.includes(':') ? 6 : 4,
    asn: spec.asn,
    localAsn: spec.localASN === instance?.asn ? undefined : spec.localASN,
    password,
    port: spec.port,
    isPassive: spec.passive,
    ebgpMultihopTtl: spec.ebgpMultihopTTL,
    ttlSecurityHops: spec.ttlSecurityHops,
    holdTimeSeconds: spec.holdTimeSeconds,
    keepaliveSeconds: spec.keepaliveSeconds,
    advertisements: spec.advertisements,
  };
}
