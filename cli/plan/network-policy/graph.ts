/** Draws who may reach whom in a namespace. In: one reading. Out: nodes and edges for rendering, always in the same order. Pure. */
import { isSelected } from '../../../lib/policies/judge-cluster.ts';
import type { NamespaceReading } from '../../model/policy-reading.ts';
import { anywhere, linksOf, peersOfSides, sidedOf, type Link, type Sided } from './links.ts';
import type { OuterPeer } from './outer-peers.ts';
import { workloadsOf } from './workloads.ts';

export interface GraphNode {
  /** `n1`, `n2`, … */
  readonly id: string;
  readonly kind: 'anywhere' | 'workload' | OuterPeer['kind'];
  readonly label: string;
  /** Of a workload. */
  readonly pods: readonly string[];
  /** Whether policies isolate the workload and nothing may reach it. */
  readonly isClosed: boolean;
}

/** A link between ids of nodes. */
export type GraphEdge = Link;

export interface PolicyGraph {
  readonly namespace: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly leftOut: NamespaceReading['leftOut'];
  /** The policies of the whole cluster that select pods here: `ClusterNetworkPolicy gate`. The links do not follow them. */
  readonly notDrawn: readonly string[];
  /** The kinds of such policies that the user may not read, by their plurals. */
  readonly unread: readonly string[];
}

export function graphOf(reading: NamespaceReading): PolicyGraph {
  const { namespace, policies, leftOut } = reading;
  const all = workloadsOf(reading).map((workload, index) => sidedOf(workload, index, policies));
  const links = linksOf(all).filter(({ ports }) => ports.length > 0);
  const places = [everything, ...all.map((one) => nodeOf(one, links)), ...outside(all)];
  const linked = new Set(links.flatMap(({ from, to }) => [from, to]));
  const drawn = places.filter(({ kind, id }) => kind === 'workload' || linked.has(id));
  const numbers = new Map(drawn.map(({ id }, index) => [id, index + 1]));
  const numberOf = (id: string): number => numbers.get(id) ?? 0;
  const idOf = (id: string): string => `n${numberOf(id)}`;
  return {
    namespace,
    nodes: drawn.map((node) => ({ ...node, id: idOf(node.id) })),
    edges: links
      .toSorted((a, b) => numberOf(a.from) - numberOf(b.from) || numberOf(a.to) - numberOf(b.to))
      .map((link) => ({ ...link, from: idOf(link.from), to: idOf(link.to) })),
    leftOut,
    notDrawn: selectingHere(reading),
    unread: reading.unread.map(({ what }) => what),
  };
}

/** The order of rules, and what they deny, have no place in a picture of what rules allow. */
function selectingHere({ pods, cluster }: NamespaceReading): readonly string[] {
  return [...cluster.policies]
    .filter(([, policy]) => policy.ingress !== undefined || policy.egress !== undefined)
    .filter(([, policy]) => pods.some(({ pod }) => isSelected(policy, pod)))
    .map(([name]) => name.replace('/', ' '))
    .sort();
}

const everything: GraphNode = { id: anywhere, kind: 'anywhere', label: 'anywhere', pods: [], isClosed: false };

function nodeOf({ id, workload: { label, pods }, ingress }: Sided, links: readonly Link[]): GraphNode {
  const isClosed = ingress.policies.size > 0 && !links.some(({ to }) => to === id);
  return { id, kind: 'workload', label, pods, isClosed };
}

/** Pods before addresses, by their labels. */
function outside(all: readonly Sided[]): readonly GraphNode[] {
  const key = ({ kind, label }: OuterPeer): string => (kind === 'pods' ? '0' : '1') + label;
  const peers = [...peersOfSides(all).values()].toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return peers.map(({ id, kind, label }) => ({ id, kind, label, pods: [], isClosed: false }));
}
