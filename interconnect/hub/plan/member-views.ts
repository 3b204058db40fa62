/** Members as others see them, cached until a member changes: most receivers see the same view. Pure. */
import type { Member } from '../../model/messages.ts';
import type { MemberRecord, Presence } from '../model/record.ts';
import { isSameForAll, memberOf } from './view.ts';

interface Shown {
  readonly record: MemberRecord;
  readonly presence: Presence;
  /** By the networks that the receiver takes part in. */
  readonly members: Map<string, Member>;
}

export class MemberViews {
  readonly #shown = new Map<string, Shown>();

  /** As `receiver`, which takes part in `networks`, sees the member. */
  view(record: MemberRecord, presence: Presence, receiver: string, networks: ReadonlySet<string>): Member {
    if (!isSameForAll(record)) return memberOf(record, presence, receiver, networks);
    const known = this.#shown.get(record.name);
    const isKnown = known?.record === record && known.presence === presence;
    const shown: Shown = isKnown ? known : { record, presence, members: new Map() };
    if (!isKnown) this.#shown.set(record.name, shown);
    const key = [...networks].join();
    const member = shown.members.get(key) ?? memberOf(record, presence, receiver, networks);
    shown.members.set(key, member);
    return member;
  }

  forget(name: string): void {
    this.#shown.delete(name);
  }
}
