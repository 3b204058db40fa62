// Input for the offers of all objects of a source, computed once for many objects: advertisements by source, announcing nodes, prefixes
// that the cluster owns. Computed again when one of these changes.
import type { BgpAdvertisementSpec } from '../../api/kinds/bgp-advertisement.ts';
import type { LabelSelector } from '../../api/kinds/shared.ts';
import { matchesSelector } from '../../api/label-selector.ts';
import { defaultVpc, joinSubnet } from '../../api/names.ts';
import { type Cidr, cidrCovers, parseCidr } from '../../net/cidr.ts';
import { hasRouterId, instancesByNode } from '../instance.ts';
import type { BgpState, Eip, Labels, Source, Subnet } from '../objects.ts';
import { annotationAdvertisement } from './offer.ts';

/** Common fields of objects that may be announced. */
interface Announceable {
  readonly labels: Labels;
  readonly namespace?: string;
}

/** The objects of each source, by key. */
export function objectsOf(state: BgpState): Readonly<Record<Source, ReadonlyMap<string, Announceable>>> {
  const { subnets, pods, services, eips, remotes } = state;
  return { Subnet: subnets, Pod: pods, Service: services, Eip: eips, Interconnect: remotes };
}

export interface ViewedAdvertisement {
  readonly name: string;
  readonly spec: BgpAdvertisementSpec;
  /** Nodes with a speaker that announce it. */
  readonly nodes: ReadonlySet<string>;
}

export interface View {
  readonly state: BgpState;
  readonly bySource: Readonly<Record<Source, readonly ViewedAdvertisement[]>>;
  readonly byName: ReadonlyMap<string, ViewedAdvertisement>;
  /** Nodes that have an instance. */
  readonly speakers: ReadonlySet<string>;
  /** Addresses of nodes and peers, with their owner, such as `node n1`. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Addresses that EIPs and ports of routers outside have, announced or not, with their owner, such as `OvnEip web`. */
  readonly outside: ReadonlyMap<string, string>;
  /** Networks of subnets that nodes have routes into. */
  readonly subnets: readonly Cidr[];
  /** Undefined if no instance limits the cluster's prefixes. */
  readonly owned: readonly Cidr[] | undefined;
}

export function viewOf(state: BgpState): View {
  const speakers = new Set([...instancesByNode(state).keys()].filter((node) => hasRouterId(state.nodes.get(node))));
  const all = [...state.advertisements.values()].flatMap(({ name, spec }): ViewedAdvertisement[] => {
    if ('problem' in spec) return [];
    const nodes = [...speakers].filter((node) =>
      matchesSelector(spec.value.nodeSelector, state.nodes.get(node)?.labels ?? {}),
    );
    return [{ name, spec: spec.value, nodes: new Set(nodes) }];
  });
  const of = (source: Source) => all.filter(({ spec }) => spec.source === source);
  const limits = [...state.instances.values()].flatMap(({ spec }) =>
    'value' in spec ? (spec.value.ownedPrefixes ?? []) : [],
  );
  const subnets = [...state.subnets.values()]
    .filter(isAnnounceable)
    .flatMap(({ prefixes }) => prefixes.flatMap(cidrOf));
  const pools = [...state.loadBalancerPools.values()].flatMap((networks) => networks.flatMap(cidrOf));
  return {
    state,
    bySource: {
      Subnet: of('Subnet'),
      Pod: of('Pod'),
      Service: of('Service'),
      Eip: of('Eip'),
      Interconnect: of('Interconnect'),
    },
    byName: new Map(all.map((each) => [each.name, each])),
    speakers,
    hosts: hostsOf(state),
    outside: new Map(
      [...state.eips.values()].flatMap((eip) => addressesOf(eip).map((ip) => [ip, `${eip.kind} ${eip.name}`] as const)),
    ),
    subnets,
    owned: limits.length === 0 ? undefined : [...limits.flatMap(cidrOf), ...subnets, ...pools],
  };
}

function hostsOf({ nodes, peers }: BgpState): ReadonlyMap<string, string> {
  const hosts = new Map<string, string>();
  for (const { name, spec } of peers.values())
    if ('value' in spec && spec.value.address !== undefined) hosts.set(spec.value.address, `BgpPeer ${name}`);
  for (const { name, addresses } of nodes.values()) for (const address of addresses) hosts.set(address, `node ${name}`);
  return hosts;
}

/** Also without a rule in force: the pod of a rule that starts again has the same right to its address as before. */
export function addressesOf({ isReady, ips }: Eip): readonly string[] {
  return isReady ? ips : [];
}

/** The join subnet is internal; addresses of other VPCs may overlap with any address, and the node has no route to them. */
export function isAnnounceable(subnet: Subnet): boolean {
  return subnet.name !== joinSubnet && subnet.vpc === defaultVpc && subnet.isPhysical !== true;
}

/** Nodes that announce the advertisement or annotation of this name. */
export function announcers(view: View, advertisement: string): ReadonlySet<string> {
  return advertisement === annotationAdvertisement
    ? view.speakers
    : (view.byName.get(advertisement)?.nodes ?? new Set());
}

export function selects({ spec }: ViewedAdvertisement, labels: Labels): boolean {
  return matchesSelector(spec.selector, labels);
}

/** Whether a selector names no objects in particular. */
export function isForAll({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length + matchExpressions.length === 0;
}

/** Whether the advertisement selects the namespace of an object. */
export function takesNamespace({ spec }: ViewedAdvertisement, view: View, namespace: string): boolean {
  return (
    spec.namespaceSelector === undefined ||
    matchesSelector(spec.namespaceSelector, view.state.namespaces.get(namespace) ?? {})
  );
}

export function isWithin(prefix: string, networks: readonly Cidr[]): boolean {
  const cidr = parseCidr(prefix);
  return cidr !== undefined && networks.some((network) => cidrCovers(network, cidr));
}

function cidrOf(text: string): readonly Cidr[] {
  const cidr = parseCidr(text);
  return cidr === undefined ? [] : [cidr];
}
