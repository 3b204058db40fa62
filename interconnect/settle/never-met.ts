/** Which clusters are told to be unreachable though no path to them was ever judged here. Pure. */
import type { Member } from '../model/messages.ts';
import { handleOf } from '../model/port-names.ts';

export interface Acquaintances {
  /** Members that the hub will know again when they speak to it. */
  readonly expected: ReadonlySet<string>;
  readonly members: ReadonlyMap<string, Member>;
}

/**
 * Clusters that even the hub only expects and to which nothing goes: for all that is known here they are dead. `carried`
 * has the handles of clusters to which routes went. While one of them is nobody's, any of these may be its cluster, renamed.
 */
export function neverMet(
  { expected, members }: Acquaintances,
  carried: () => ReadonlyMap<string, unknown>,
): readonly string[] {
  const unknown = [...expected].filter((name) => !members.has(name));
  if (unknown.length === 0) return [];
  const handles = carried();
  const owners = new Set([...expected, ...members.values().map(handleOf)]);
  if (handles.keys().some((handle) => !owners.has(handle))) return [];
  return unknown.filter((name) => !handles.has(name));
}
