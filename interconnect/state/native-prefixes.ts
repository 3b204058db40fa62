/**
 * Prefixes that are clusters' own. A foreign zone, which the hub does not check, cannot take those of members; and this
 * cluster offers no prefix of a router that lies within any of them. Prefixes that members have from routers are not
 * here.
 */
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import { parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { PrefixIndex } from '../../lib/net/prefix-index.ts';
import type { Member } from '../model/messages.ts';

export interface HeldPrefix {
  readonly cidr: Cidr;
  readonly holder: string;
}

interface Indexed {
  readonly member: Member;
  readonly held: readonly (readonly [network: string, prefix: HeldPrefix])[];
}

export class NativePrefixes {
  /** Grows with every change of the prefixes. */
  revision = 0;
  readonly #natives = new Map<string, PrefixIndex<HeldPrefix>>();
  readonly #foreigners = new Map<string, PrefixIndex<HeldPrefix>>();
  readonly #known = new Map<string, Indexed>();

  /** Applies changes; returns foreign zones whose routes may have another verdict now. */
  update(names: ReadonlySet<string>, members: ReadonlyMap<string, Member>): ReadonlySet<string> {
    const affected = new Set<string>();
    for (const name of names) {
      const member = members.get(name);
      const before = this.#known.get(name);
      if (before !== undefined && before.member === member) continue;
      if (before !== undefined) this.#replace(before, 'remove', affected);
      this.#known.delete(name);
      if (member === undefined) continue;
      const indexed = { member, held: heldBy(member) };
      this.#known.set(name, indexed);
      this.#replace(indexed, 'add', affected);
    }
    return affected;
  }

  /** The prefix of another cluster that the hub answers for and that shares addresses with this one. */
  holder(network: string, cidr: Cidr, cluster: string): HeldPrefix | undefined {
    const natives = this.#natives.get(network);
    return natives?.allOverlapping(cidr).find(({ holder }) => holder !== cluster);
  }

  /** A prefix of another cluster's own that contains all of these addresses. */
  cover(network: string, cidr: Cidr): HeldPrefix | undefined {
    return this.#natives.get(network)?.covering(cidr) ?? this.#foreigners.get(network)?.covering(cidr);
  }

  clear(): void {
    this.revision += 1;
    this.#natives.clear();
    this.#foreigners.clear();
    this.#known.clear();
  }

  #replace({ member, held }: Indexed, change: 'add' | 'remove', affected: Set<string>): void {
    const side = member.foreign ? this.#foreigners : this.#natives;
    if (held.length > 0) this.revision += 1;
    for (const [network, prefix] of held) {
      const index = side.get(network) ?? new PrefixIndex<HeldPrefix>();
      side.set(network, index);
      index[change](prefix);
      if (member.foreign) continue;
      for (const other of this.#foreigners.get(network)?.allOverlapping(prefix.cidr) ?? []) affected.add(other.holder);
    }
  }
}

function heldBy({ name, routes }: Member): Indexed['held'] {
  return routes.flatMap(({ prefix, transitSwitch, origin }) => {
    const cidr = origin === learnedOrigin ? undefined : parseCidr(prefix);
    return cidr === undefined ? [] : [[transitSwitch, { cidr, holder: name }] as const];
  });
}
