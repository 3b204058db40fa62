/**
 * Which of the domain names that pods asked for are resolved, where policies name them with `*`. In: what the daemons report (AskedDomains), and the patterns of policies
 * in force. Out: the names in the order in which they count, and the patterns of which some are left out. Rule: any pod may ask for any name, and a node may report any, so that
 * nodes take turns, and on each node namespaces: nobody can take more than his share from others. Pure.
 */
import type { AskedDomain } from '../../../lib/api/kinds/asked-domains.ts';
import { patternsOf } from '../../../lib/dns/name.ts';

/** Names that are resolved beside those that policies name without `*`. */
export const mostAskedNames = 1000;

interface Patterns {
  has(pattern: string): boolean;
}

export interface ChosenNames {
  /** The patterns of each name. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** Patterns with names that are left out, as far as the next thousand shows them: nodes may have a million. */
  readonly short: ReadonlySet<string>;
}

function byAge(a: AskedDomain, b: AskedDomain): number {
  return a.since - b.since || (a.name < b.name ? -1 : 1);
}

/** One of each list, then the next of each. */
function* turns<T>(lists: readonly (readonly T[])[]): Iterable<T> {
  let left = lists;
  for (let at = 0; left.length > 0; at += 1) {
    left = left.filter(({ length }) => length > at);
    for (const list of left) yield* list.slice(at, at + 1);
  }
}

/** The names of a node that patterns match, in the order in which they count. */
export function namesOfNode(entries: readonly AskedDomain[], patterns: Patterns): readonly string[] {
  const matching = entries.filter(({ name }) => patternsOf(name, patterns).length > 0).toSorted(byAge);
  const namespaces = [...Map.groupBy(matching, ({ namespace }) => namespace).values()];
  // Several namespaces may ask for a name.
  return [...new Set([...turns(namespaces)].map(({ name }) => name))];
}

/** @param nodes the names of each node, as `namesOfNode` returns them */
export function chooseNames(nodes: readonly (readonly string[])[], patterns: Patterns): ChosenNames {
  const names = new Map<string, readonly string[]>();
  const short = new Set<string>();
  let left = 0;
  for (const name of turns(nodes)) {
    if (names.has(name)) continue;
    const own = patternsOf(name, patterns);
    if (names.size < mostAskedNames) names.set(name, own);
    else {
      for (const pattern of own) short.add(pattern);
      left += 1;
      if (left === mostAskedNames) break;
    }
  }
  return { names, short };
}
