/** The BgpNodeStates of all nodes → which prefixes this cluster's routers lead to, by VPC. */
import { z } from 'zod';
import { learnedRoute } from '../../lib/api/kinds/bgp-node-state.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { Edge, Edges } from '../model/edges.ts';

/** A prefix in canonical text that a node learned for a VPC. */
export interface LearnedPrefix {
  readonly prefix: string;
  readonly vpc: string;
  readonly tags: readonly string[];
}

const learnedFields = z.array(learnedRoute.pick({ prefix: true, vpc: true, tags: true }));

export function parseBgpNodeState(raw: RawObject): readonly LearnedPrefix[] {
  const { learned } = (raw['status'] ?? {}) as { learned?: unknown };
  const { data = [] } = learnedFields.safeParse(learned);
  return data.flatMap(({ prefix, vpc, tags = [] }) => {
    const cidr = parseCidr(prefix);
    return cidr === undefined || vpc === undefined ? [] : [{ prefix: formatCidr(cidr), vpc, tags }];
  });
}

export interface EdgeParts {
  readonly states: Iterable<readonly [string, readonly LearnedPrefix[]]>;
  /** A speaker that died with its node takes nothing back. */
  readonly isReady: (node: string) => boolean;
}

/** `before` itself where nothing is different. */
export function buildEdges({ states, isReady }: EdgeParts, before: Edges): Edges {
  const found = new Map<string, Map<string, { readonly nodes: Set<string>; readonly tags: Set<string> }>>();
  for (const [node, learned] of states) {
    if (!isReady(node)) continue;
    for (const { vpc, prefix, tags } of learned) {
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
