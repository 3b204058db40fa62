/**
 * The sets of pods that members want of each other. In: for each session, what it wants. Out: for each member, the sets that it is asked for, and the members that want each.
 * Pure. A set counts once, however many members want it. Names that are no members cost nothing: a member names those that it has from the hub, and a member that
 * invents others would fill the memory of the hub with them.
 */
import { setOf, longestSelector } from '../../../lib/policies/remote-peers.ts';
import { entryOf } from '../../../lib/desired/entry-of.ts';
import type { Rejection } from '../../model/messages.ts';
import { mostWanted, type AskedSet, type WantedSet } from '../../model/pod-sets.ts';
import { legible } from './legible.ts';

/** Clusters that one set may name: more than there are. */
const mostClusters = 2000;

interface Asked {
  readonly selector: string;
  readonly by: Set<object>;
}

interface Wanted {
  readonly selector: string;
  readonly clusters: ReadonlySet<string>;
}

/** Sets by member. */
type ByMember = ReadonlyMap<string, readonly string[]>;

export interface WantedChange {
  /** Members that are asked for something else now. */
  readonly asked: ReadonlySet<string>;
  /** What the session did not want before. */
  readonly added: ByMember;
  /** What it does not want any more. */
  readonly removed: ByMember;
}

export class WantedPods {
  /** By member that is asked, and by set. */
  readonly #asked = new Map<string, Map<string, Asked>>();
  readonly #wants = new Map<object, ReadonlyMap<string, Wanted>>();
  readonly #isMember: (cluster: string) => boolean;

  constructor(isMember: (cluster: string) => boolean) {
    this.#isMember = isMember;
  }

  /** Pairs of a member and a set that it is asked for. */
  get size(): number {
    return this.#asked.values().reduce((sum, { size }) => sum + size, 0);
  }

  /** Replaces what a session wants. */
  set(session: object, sets: readonly WantedSet[]): WantedChange {
    const before = this.#wants.get(session) ?? new Map<string, Wanted>();
    const valid = sets.filter((one) => refuseForm(one) === undefined);
    const after = new Map(
      valid
        .map(
          ({ id, selector, clusters }) =>
            [id, { selector, clusters: new Set(clusters.filter(this.#isMember)) }] as const,
        )
        .slice(0, mostWanted),
    );
    const asked = new Set<string>();
    const [added, removed] = [new Map<string, string[]>(), new Map<string, string[]>()];
    for (const [id, { clusters }] of before)
      for (const cluster of clusters) {
        if (after.get(id)?.clusters.has(cluster) === true) continue;
        entryOf(removed, cluster, () => []).push(id);
        if (this.#remove(session, cluster, id)) asked.add(cluster);
      }
    for (const [id, { clusters, selector }] of after)
      for (const cluster of clusters) {
        if (before.get(id)?.clusters.has(cluster) === true) continue;
        entryOf(added, cluster, () => []).push(id);
        const known = entryOf(this.#asked, cluster, () => new Map<string, Asked>());
        if (!known.has(id)) asked.add(cluster);
        entryOf(known, id, () => ({ selector, by: new Set<object>() })).by.add(session);
      }
    if (after.size === 0) this.#wants.delete(session);
    else this.#wants.set(session, after);
    return { asked, added, removed };
  }

  isWantedBy(session: object, cluster: string, id: string): boolean {
    return this.#asked.get(cluster)?.get(id)?.by.has(session) === true;
  }

  /** Sessions that want a set of a member. */
  wanting(cluster: string, id: string): Iterable<object> {
    return this.#asked.get(cluster)?.get(id)?.by ?? [];
  }

  /** The sets that a member is asked for, sorted. */
  askedOf(cluster: string): readonly AskedSet[] {
    const asked = [...(this.#asked.get(cluster) ?? [])].map(([id, { selector }]) => ({ id, selector }));
    return asked.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  #remove(session: object, cluster: string, id: string): boolean {
    const sets = this.#asked.get(cluster);
    const asked = sets?.get(id);
    if (sets === undefined || asked === undefined) return false;
    asked.by.delete(session);
    if (asked.by.size > 0) return false;
    sets.delete(id);
    if (sets.size === 0) this.#asked.delete(cluster);
    return true;
  }
}

/** Why a set cannot be wanted. */
function refuseForm({ id, selector, clusters }: WantedSet): string | undefined {
  if (selector.length > longestSelector) return `its selector has more than ${longestSelector} characters`;
  if (setOf(selector) !== id) return 'its name is not the digest of its selector';
  return clusters.length > mostClusters ? `it names more than ${mostClusters} clusters` : undefined;
}

/** What is wrong with what a member wants. */
export function refuseWanted(sets: readonly WantedSet[]): readonly Rejection[] {
  const of = (value: string, code: string, message: string): Rejection => {
    return { kind: 'pods', value: legible(value), code, message, holder: '', transitSwitch: '' };
  };
  const invalid = sets.flatMap((one) => {
    const defect = refuseForm(one);
    return defect === undefined
      ? []
      : [of(one.id, 'Invalid', `a set of pods that this cluster wants is refused: ${defect}`)];
  });
  const surplus = sets.length - invalid.length - mostWanted;
  if (surplus <= 0) return invalid;
  const message = `policies of this cluster name pods of other clusters by more than ${mostWanted} selectors, of which ${surplus} are left out`;
  return [...invalid, of(String(surplus), 'MaxWanted', message)];
}
