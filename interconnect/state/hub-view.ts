/** The last thing the hub said, put together from its updates. Kept over lost sessions; replaced by the next full one. */
import type { HubUpdate, Member, Rejection, TransitSwitch } from '../link/messages.ts';

export class HubView {
  readonly #members = new Map<string, Member>();
  #switches: readonly TransitSwitch[] = [];
  #rejections: readonly Rejection[] = [];
  #revision = 0;
  #isReceived = false;

  apply(update: HubUpdate): void {
    if (update.full) this.#members.clear();
    for (const name of update.removed) this.#members.delete(name);
    for (const member of update.members) this.#members.set(member.name, member);
    // The same switches stay the same object: plans are remembered by it.
    if (JSON.stringify(update.switches) !== JSON.stringify(this.#switches)) this.#switches = update.switches;
    this.#rejections = update.rejections;
    this.#revision = update.revision;
    this.#isReceived = true;
  }

  reset(): void {
    this.#members.clear();
    this.#switches = [];
    this.#rejections = [];
    this.#revision = 0;
    this.#isReceived = false;
  }

  /** False until the hub has spoken: nothing may be concluded from an empty view. */
  get isReceived(): boolean {
    return this.#isReceived;
  }
  get members(): ReadonlyMap<string, Member> {
    return this.#members;
  }
  get switches(): readonly TransitSwitch[] {
    return this.#switches;
  }
  get rejections(): readonly Rejection[] {
    return this.#rejections;
  }
  /** Of our own state, the newest that is in the hub's databases. */
  get revision(): number {
    return this.#revision;
  }
}
