/** The members of this hub, with key, limits and ports: entries by the present name of each. */
import type { AllocatedPort } from '../model/record.ts';
import { noLimits, type MemberSpec, type Membership, type StoredMember } from '../model/store.ts';

export type Entry = Omit<StoredMember, 'cluster'>;

export class Memberships {
  /** By the name that each has now. */
  readonly #entries = new Map<string, Entry>();
  /** Handle → name. */
  readonly #names = new Map<string, string>();

  member(cluster: string): Membership | undefined {
    return this.#entries.get(cluster)?.membership;
  }

  /** The name with which it first joined. Its ports and its object have this name. */
  handle(cluster: string): string {
    return this.#entries.get(cluster)?.handle ?? cluster;
  }

  /** The present name of the member with this handle; undefined if there is none. */
  nameOf(handle: string): string | undefined {
    return this.#names.get(handle);
  }

  /** The member with this key, whatever its name. */
  withKey(fingerprint: string): Membership | undefined {
    return this.members().find((member) => member.fingerprint === fingerprint);
  }

  /** Whether there is an object of this name, or for a member of this name. */
  has(cluster: string): boolean {
    return this.#entries.has(cluster);
  }

  /** Every member that has joined. */
  *members(): Generator<Membership> {
    for (const { membership } of this.#entries.values()) if (membership !== undefined) yield membership;
  }

  spec(cluster: string): MemberSpec {
    return this.#entries.get(cluster)?.spec ?? noLimits;
  }

  /** Ports recorded for it. */
  ports(cluster: string): readonly AllocatedPort[] {
    return this.#entries.get(cluster)?.ports ?? [];
  }

  /** Whether it was given up as dead before. */
  isStale(cluster: string): boolean {
    return this.#entries.get(cluster)?.isStale === true;
  }

  protected entry(cluster: string): Entry | undefined {
    return this.#entries.get(cluster);
  }

  protected entries(): MapIterator<[string, Entry]> {
    return this.#entries.entries();
  }

  protected put(cluster: string, entry: Entry): void {
    this.#entries.set(cluster, entry);
    this.#names.set(entry.handle, cluster);
  }

  protected delete(cluster: string, handle: string): void {
    this.#entries.delete(cluster);
    this.#names.delete(handle);
  }

  /** Another object that had the name has none from now on. */
  protected move(before: string, cluster: string, entry: Entry): void {
    const other = this.#entries.get(cluster);
    this.#entries.delete(before);
    this.put(cluster, entry);
    if (other !== undefined && other.handle !== entry.handle) this.#names.delete(other.handle);
  }
}
