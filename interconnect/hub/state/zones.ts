/** Availability zones of our members: the table has no external_ids that could show it. */
import type { MemberRecord } from '../model/record.ts';
import type { Memberships } from './memberships.ts';

export class Zones {
  readonly #memberships: Pick<Memberships, 'member' | 'handle' | 'nameOf'>;
  /** Name → handle, including former names, and members that have left: the hub removes their rows. */
  readonly #handles: Map<string, string>;

  constructor(memberships: Pick<Memberships, 'member' | 'handle' | 'nameOf'>, records: Iterable<MemberRecord>) {
    this.#memberships = memberships;
    this.#handles = new Map(Array.from(records, ({ name, handle }) => [name, handle]));
  }

  /**
   * Whether a zone of this name is no foreign one. Ports of a member have its handle in their names, whatever its name.
   */
  isTaken(name: string): boolean {
    return this.handleOf(name) !== undefined || this.#memberships.nameOf(name) !== undefined;
  }

  /** The handle of the member whose zone it is; undefined for foreign zones. */
  handleOf(name: string): string | undefined {
    const isMember = this.#memberships.member(name) !== undefined;
    return isMember ? this.#memberships.handle(name) : this.#handles.get(name);
  }

  add(name: string, handle: string): void {
    this.#handles.set(name, handle);
  }

  /** Former names of the member are forgotten with it. */
  forget(name: string): void {
    const handle = this.#handles.get(name);
    for (const [one, its] of this.#handles) if (its === handle) this.#handles.delete(one);
  }
}
