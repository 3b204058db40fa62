/** The BgpNodeStates of all nodes → which prefixes this cluster's routers lead to, by VPC. */
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { formatCidr, lastOf, parseCidr } from '../../lib/net/cidr.ts';
import { parsePoolRange } from '../../lib/services/load-balancer.ts';
import type { SlicedView } from '../../lib/slices/slice.ts';
import type { Edge, Edges } from '../model/edges.ts';
import type { SharedPool } from '../model/service-objects.ts';

/** A prefix in canonical text that a node learned for a VPC. */
export interface LearnedPrefix {
  readonly prefix: string;
  readonly vpc: string;
  readonly tags: readonly string[];
}

function learnedOf(routes: readonly BgpRoute[]): readonly LearnedPrefix[] {
  return routes.flatMap(({ prefix, vpc, tags = [] }) => {
    const cidr = parseCidr(prefix);
    return cidr === undefined || vpc === undefined ? [] : [{ prefix: formatCidr(cidr), vpc, tags }];
  });
}

export const learnedView: SlicedView<BgpRoute, readonly LearnedPrefix[], readonly LearnedPrefix[]> = {
  kind: bgpRoutes,
  merge: learnedOf,
  parse: () => (learned) => learned,
};

export interface EdgeParts {
  readonly states: Iterable<readonly [string, readonly LearnedPrefix[]]>;
  /** A speaker that died with its node takes nothing back. */
  readonly isReady: (node: string) => boolean;
  /** Whether all its addresses are of pools that clusters share: each cluster announces them to routers by itself. */
  readonly isShared?: (prefix: string) => boolean;
}

/** Whether all addresses of a prefix are of a pool that clusters share. */
export function areShared(pools: Iterable<SharedPool>): (prefix: string) => boolean {
  const ranges = [...pools].flatMap((pool) =>
    pool.isOffered ? pool.ranges.flatMap((text) => parsePoolRange(text) ?? []) : [],
  );
  return (prefix) => {
    const cidr = parseCidr(prefix);
    return ranges.some(
      ({ family, first, last }) => family === cidr?.family && first <= cidr.network && lastOf(cidr) <= last,
    );
  };
}

/** `before` itself where nothing is different. */
export function buildEdges({ states, isReady, isShared = () => false }: EdgeParts, before: Edges): Edges {
  const found = new Map<string, Map<string, { readonly nodes: Set<string>; readonly tags: Set<string> }>>();
  for (const [node, learned] of states) {
    if (!isReady(node)) continue;
    for (const { vpc, prefix, tags } of learned) {
      if (isShared(prefix)) continue;
      const prefixes = found.get(vpc) ?? new Map<string, { readonly nodes: Set<string>; readonly tags: Set<string> }>();
      found.set(vpc, prefixes);
      const edge = prefixes.get(prefix) ?? { nodes: new Set(), tags: new Set() };
      prefixes.set(prefix, edge);
      edge.nodes.add(node);
      for (const tag of tags) edge.tags.add(tag);
    }
  }
  const edges = new Map(
    byName(found).map(([vpc, prefixes]) => [
      vpc,
      new Map(
        byName(prefixes).map(([prefix, { nodes, tags }]): [string, Edge] => [
          prefix,
          { nodes: [...nodes].sort(), tags: [...tags].sort() },
        ]),
      ),
    ]),
  );
  return textOf(edges) === textOf(before) ? before : edges;
}

function byName<T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function textOf(edges: Edges): string {
  return JSON.stringify([...edges].map(([vpc, prefixes]) => [vpc, [...prefixes]]));
}
