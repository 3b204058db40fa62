/**
 * The presence of members. In: beginnings and ends of sessions, with their times. Out: the presence of each member, and the
 * members that are given up: absent for long and reached by no connected member, of which there must be at least one.
 */
import type { Presence } from '../model/record.ts';
import { moveEntry } from '../state/member-records.ts';

const present: Presence = { connected: true, lastSeenMs: 0 };
const withoutPods: Presence = { ...present, lacksPods: true };

export class Presences {
  readonly #presence = new Map<string, Presence>();
  /** Since when a member has no session, by the hub's clock; it may have been away before the hub started. */
  readonly #absentSince = new Map<string, number>();

  get(name: string): Presence | undefined {
    return this.#presence.get(name);
  }

  /** As others see it: it counts as present until it is known to be absent. */
  shown(name: string): Presence {
    return this.#presence.get(name) ?? present;
  }

  /** A session began. Returns whether it was shown as absent, or was unknown. */
  connect(name: string): boolean {
    this.#absentSince.delete(name);
    if (this.#presence.get(name)?.connected === true) return false;
    this.#presence.set(name, present);
    return true;
  }

  /** Call with each state of a session. Returns whether others are to be shown something else. */
  setTellsPods(name: string, tellsPods: boolean): boolean {
    const shown = tellsPods ? present : withoutPods;
    if (this.#presence.get(name)?.connected !== true || this.#presence.get(name) === shown) return false;
    this.#presence.set(name, shown);
    return true;
  }

  /** Call when its session ended: it is still shown as present for a grace period. */
  disconnect(name: string, nowMs: number): void {
    this.#presence.set(name, this.#presence.get(name) === withoutPods ? withoutPods : present);
    this.#absentSince.set(name, nowMs);
  }

  /** Call when its grace period is over, or if it was given up before. */
  setAbsent(name: string, lastSeenMs: number): void {
    this.#presence.set(name, { connected: false, lastSeenMs });
  }

  rename(before: string, name: string): void {
    for (const map of [this.#presence, this.#absentSince]) moveEntry<unknown>(map, before, name);
  }

  delete(name: string): void {
    this.#presence.delete(name);
    this.#absentSince.delete(name);
  }

  /**
   * Members that are given up now, and since when each is absent. `unreachable`: by connected member, the members that it does
   * not reach. Without a witness the hub itself may be the one that is cut off.
   */
  giveUp(
    unreachable: ReadonlyMap<string, ReadonlySet<string>>,
    { nowMs, staleAfterMs }: { readonly nowMs: number; readonly staleAfterMs: number },
  ): readonly (readonly [name: string, sinceMs: number])[] {
    const stale = [...this.#absentSince].filter(([name, sinceMs]) => {
      if (nowMs - sinceMs < staleAfterMs) return false;
      const others = [...unreachable].filter(([other]) => other !== name);
      return others.length > 0 && others.every(([, names]) => names.has(name));
    });
    for (const [name, sinceMs] of stale) {
      this.#absentSince.delete(name);
      this.setAbsent(name, sinceMs);
    }
    return stale;
  }
}
