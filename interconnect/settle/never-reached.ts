/** Which clusters count as unreachable though no path to them was ever judged here. Pure. */
import type { Member } from '../model/messages.ts';
import { handleOf } from '../model/port-names.ts';

export interface KnownMembers {
  /** Members that the hub will know again when they speak to it. */
  readonly expected: ReadonlySet<string>;
  readonly members: ReadonlyMap<string, Member>;
}

/**
 * Clusters that the hub only expects and that no route leads to: as far as this cluster knows they are dead. `carried`:
 * handles of clusters that routes led to. While one of these handles belongs to no cluster, any of the expected
 * clusters may be its owner under a new name.
 */
export function neverReached(
  { expected, members }: KnownMembers,
  carried: () => ReadonlyMap<string, unknown>,
): readonly string[] {
  const unknown = [...expected].filter((name) => !members.has(name));
  if (unknown.length === 0) return [];
  const handles = carried();
  const owners = new Set([...expected, ...members.values().map(handleOf)]);
  if (handles.keys().some((handle) => !owners.has(handle))) return [];
  return unknown.filter((name) => !handles.has(name));
}
