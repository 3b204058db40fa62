/** Draws who may reach whom in a namespace. In: one reading. Out: nodes and edges for rendering, always in the same order. Pure. */
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
  /** What of the rules is not in force, or cannot be drawn exactly: `ClusterNetworkPolicy gate, spec.egress[0]: …`. */
  readonly flaws: readonly string[];
  /** The kinds of such policies that the user may not read, by their plurals. */
  readonly unread: readonly string[];
}

export function graphOf(reading: NamespaceReading): PolicyGraph {
  const { namespace, leftOut } = reading;
  const all = workloadsOf(reading).map((workload, index) => sidedOf(workload, index, reading));
  const links = linksOf(all, reading).filter(({ ports }) => ports.length > 0);
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
    flaws: [...new Set(all.flatMap(({ ingress, egress }) => [...ingress.flaws, ...egress.flaws]))].sort(),
    unread: reading.unread.map(({ what }) => what),
  };
}

const everything: GraphNode = { id: anywhere, kind: 'anywhere', label: 'anywhere', pods: [], isClosed: false };

function nodeOf({ id, workload: { label, pods }, ingress }: Sided, links: readonly Link[]): GraphNode {
  const isClosed = ingress.isSelected && !links.some(({ to, isDenied }) => to === id && !isDenied);
  return { id, kind: 'workload', label, pods, isClosed };
}

const order: readonly OuterPeer['kind'][] = ['pods', 'nodes', 'addresses'];

/** By kind, then by their labels. */
function outside(all: readonly Sided[]): readonly GraphNode[] {
  const key = ({ kind, label }: OuterPeer): string => `${order.indexOf(kind)}${label}`;
  const peers = [...peersOfSides(all).values()].toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return peers.map(({ id, kind, label }) => ({ id, kind, label, pods: [], isClosed: false }));
}
