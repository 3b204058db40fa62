/**
 * ClusterNetworkPolicies of v1alpha2, AdminNetworkPolicies and BaselineAdminNetworkPolicies of v1alpha1 together with NetworkPolicies, for comparison with
 * packets. In: policies, pods and nodes as they are in the API, and a connection; out: whether it is allowed. Pure, and written from the text of the API
 * (sigs.k8s.io/network-policy-api). Where the text leaves the order open, a BaselineAdminNetworkPolicy comes after ClusterNetworkPolicies of its tier.
 */
import {
  isAllowedAt,
  isWithin,
  selects,
  type Connection,
  type Direction,
  type Host,
  type Selector,
  type World,
} from './network-policies.ts';

interface NamespacedPods {
  readonly namespaceSelector: Selector;
  readonly podSelector: Selector;
}

export interface Subject {
  readonly namespaces?: Selector;
  readonly pods?: NamespacedPods;
}

/** Exactly one field; `future` stands for one that a later version of the API adds. */
export interface ClusterPeer extends Subject {
  readonly nodes?: Selector;
  readonly networks?: readonly string[];
  readonly domainNames?: readonly string[];
  readonly future?: unknown;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

interface AnyPort {
  readonly destinationPort?: { readonly number?: number; readonly range?: Range };
}

/** An entry of `protocols` in v1alpha2. */
export interface ClusterProtocol {
  readonly tcp?: AnyPort;
  readonly udp?: AnyPort;
  readonly sctp?: AnyPort;
  readonly destinationNamedPort?: string;
}

type Protocol = Connection['protocol'];

/** An entry of `ports` in v1alpha1. */
export interface AdminPort {
  readonly portNumber?: { readonly protocol?: Protocol; readonly port: number };
  readonly portRange?: Range & { readonly protocol?: Protocol };
  readonly namedPort?: string;
}

export interface ClusterRule {
  readonly name?: string;
  /** `Accept` in v1alpha2, `Allow` in v1alpha1. */
  readonly action: 'Accept' | 'Allow' | 'Deny' | 'Pass';
  readonly from?: readonly ClusterPeer[];
  readonly to?: readonly ClusterPeer[];
  readonly protocols?: readonly ClusterProtocol[];
  readonly ports?: readonly AdminPort[];
}

export interface ClusterPolicy {
  readonly kind: 'ClusterNetworkPolicy' | 'AdminNetworkPolicy' | 'BaselineAdminNetworkPolicy';
  readonly metadata: { readonly name: string };
  readonly spec: {
    /** Of a ClusterNetworkPolicy. */
    readonly tier?: 'Admin' | 'Baseline';
    readonly priority?: number;
    readonly subject: Subject;
    readonly ingress?: readonly ClusterRule[];
    readonly egress?: readonly ClusterRule[];
  };
}

export interface ClusterWorld extends World {
  readonly clusterPolicies: readonly ClusterPolicy[];
  /** Labels and `status.addresses` of the nodes. */
  readonly nodes: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly addresses: readonly string[];
  }[];
}

/** Whether namespaces or pods of a subject or a peer match; hosts, and so pods of the host network, are never among them. */
function isPod(world: ClusterWorld, { namespaces, pods }: Subject, { namespace, labels }: Host): boolean {
  if (namespace === undefined) return false;
  const ofNamespace = world.namespaces.get(namespace) ?? {};
  if (namespaces !== undefined) return selects(namespaces, ofNamespace);
  return pods !== undefined && selects(pods.namespaceSelector, ofNamespace) && selects(pods.podSelector, labels);
}

/** Nodes, networks and names are for destinations alone. Names are for Accept alone, and no connection of the tests is to an address of one. */
function isKnown(
  { namespaces, pods, nodes, networks, domainNames }: ClusterPeer,
  direction: Direction,
  action: string,
): boolean {
  if (namespaces !== undefined || pods !== undefined) return true;
  if (direction === 'Ingress') return false;
  return nodes !== undefined || networks !== undefined || (domainNames !== undefined && isAccept(action));
}

function isAccept(action: string): boolean {
  return action === 'Accept' || action === 'Allow';
}

function isPeer(world: ClusterWorld, peer: ClusterPeer, other: Host, address: string): boolean {
  const { nodes, networks = [] } = peer;
  if (networks.some((network) => isWithin(network, address))) return true;
  if (nodes !== undefined)
    return world.nodes.some((node) => selects(nodes, node.labels) && node.addresses.includes(address));
  return isPod(world, peer, other);
}

function isNamedPort(name: string, { to, protocol, port }: Connection): boolean {
  return to.ports.some((one) => one.name === name && one.protocol === protocol && one.containerPort === port);
}

function isInRange({ start, end }: Range, port: number): boolean {
  return start <= port && port <= end;
}

function isProtocol({ destinationNamedPort, ...protocols }: ClusterProtocol, connection: Connection): boolean {
  if (destinationNamedPort !== undefined) return isNamedPort(destinationNamedPort, connection);
  const ports = protocols[connection.protocol === 'TCP' ? 'tcp' : 'udp'];
  if (ports === undefined) return false;
  const { number, range } = ports.destinationPort ?? {};
  if (range !== undefined) return isInRange(range, connection.port);
  return number === undefined || number === connection.port;
}

function isAdminPort({ portNumber, portRange, namedPort }: AdminPort, connection: Connection): boolean {
  if (namedPort !== undefined) return isNamedPort(namedPort, connection);
  const { protocol = 'TCP' } = portNumber ?? portRange ?? {};
  if (protocol !== connection.protocol) return false;
  if (portRange !== undefined) return isInRange(portRange, connection.port);
  return portNumber?.port === connection.port;
}

type Decision = 'Accept' | 'Deny' | 'Pass';

/** What a rule says about a connection; undefined if it does not match. A rule with an unknown peer fails closed. */
function decisionOf(
  world: ClusterWorld,
  direction: Direction,
  { action, from, to, protocols, ports }: ClusterRule,
  connection: Connection,
): Decision | undefined {
  const peers = (direction === 'Ingress' ? from : to) ?? [];
  if (!peers.every((peer) => isKnown(peer, direction, action))) return isAccept(action) ? undefined : 'Deny';
  const [other, address] =
    direction === 'Ingress' ? [connection.from, connection.source] : [connection.to, connection.destination];
  const isMatch =
    peers.some((peer) => isPeer(world, peer, other, address)) &&
    (protocols === undefined || protocols.some((one) => isProtocol(one, connection))) &&
    (ports === undefined || ports.some((one) => isAdminPort(one, connection)));
  if (!isMatch) return undefined;
  return action === 'Allow' ? 'Accept' : action;
}

function tierOf({ kind, spec }: ClusterPolicy): 'Admin' | 'Baseline' {
  if (kind === 'ClusterNetworkPolicy') return spec.tier ?? 'Admin';
  return kind === 'AdminNetworkPolicy' ? 'Admin' : 'Baseline';
}

/** What a tier decides at one end of a connection; undefined if it leaves that to the next tier. */
function isAllowedByTier(
  world: ClusterWorld,
  tier: 'Admin' | 'Baseline',
  direction: Direction,
  connection: Connection,
): boolean | undefined {
  const self = direction === 'Ingress' ? connection.to : connection.from;
  const decision = world.clusterPolicies
    .filter((policy) => tierOf(policy) === tier && isPod(world, policy.spec.subject, self))
    .sort((a, b) => (a.spec.priority ?? Infinity) - (b.spec.priority ?? Infinity))
    .flatMap(({ spec }) => (direction === 'Ingress' ? spec.ingress : spec.egress) ?? [])
    .map((rule) => decisionOf(world, direction, rule, connection))
    .find((one) => one !== undefined);
  return decision === undefined || decision === 'Pass' ? undefined : decision === 'Accept';
}

function isAllowedAtEnd(world: ClusterWorld, direction: Direction, connection: Connection): boolean {
  return (
    isAllowedByTier(world, 'Admin', direction, connection) ??
    isAllowedAt(world, direction, connection) ??
    isAllowedByTier(world, 'Baseline', direction, connection) ??
    true
  );
}

/** Whether a connection between different hosts is allowed. */
export function isAllowed(world: ClusterWorld, connection: Connection): boolean {
  return isAllowedAtEnd(world, 'Egress', connection) && isAllowedAtEnd(world, 'Ingress', connection);
}
