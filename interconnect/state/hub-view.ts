/** The last thing the hub said, put together from its updates. Kept over lost sessions; replaced by the next full one. */
import type { HubUpdate, Member, Rejection, SilentDatabase, TransitSwitch } from '../link/messages.ts';

/** What an update changed. */
export interface HubNews {
  readonly members: ReadonlySet<string>;
  readonly isSwitches: boolean;
}

export class HubView {
  readonly #members = new Map<string, Member>();
  #switches: readonly TransitSwitch[] = [];
  #rejections: readonly Rejection[] = [];
  #expected: ReadonlySet<string> = new Set();
  #silentDatabases: readonly SilentDatabase[] = [];
  #revision = 0;
  #isReceived = false;
  #isComplete = false;
  #receivedMs = 0;

  /** `nowMs`: Unix milliseconds. */
  apply(update: HubUpdate, nowMs: number): HubNews {
    const changed = new Set([...update.removed, ...update.members.map(({ name }) => name)]);
    this.#expected = new Set(update.expected);
    if (update.full) {
      // What the hub will know again when they speak to it stays as it was.
      const kept = new Set([...update.expected, ...changed]);
      for (const name of this.#members.keys()) {
        if (kept.has(name)) continue;
        this.#members.delete(name);
        changed.add(name);
      }
    }
    for (const name of update.removed) this.#members.delete(name);
    for (const member of update.members) this.#members.set(member.name, member);
    // A hub that has nothing of ours yet (or any more) is told first: what works is not taken down for it.
    if (update.revision > 0) this.#isComplete = true;
    // The same switches stay the same object: plans are remembered by it.
    const isSwitches =
      (update.revision > 0 || !this.#isComplete) &&
      JSON.stringify(update.transitSwitches) !== JSON.stringify(this.#switches);
    if (isSwitches) this.#switches = update.transitSwitches;
    // Before it has heard a state of ours in this session, it refuses nothing: what it refused before still holds.
    if (update.revision > 0 || update.rejections.length > 0) this.#rejections = update.rejections;
    this.#silentDatabases = update.silentDatabases;
    // What is told before anything else, because the databases are silent, takes back nothing that was acknowledged.
    if (update.full || update.revision > 0) this.#revision = update.revision;
    this.#isReceived = true;
    this.#receivedMs = nowMs;
    return { members: changed, isSwitches };
  }

  reset(): void {
    this.#members.clear();
    this.#switches = [];
    this.#rejections = [];
    this.#expected = new Set();
    this.#silentDatabases = [];
    this.#revision = 0;
    this.#isReceived = false;
    this.#isComplete = false;
  }

  /** False until the hub has spoken: nothing may be concluded from an empty view. */
  get isReceived(): boolean {
    return this.#isReceived;
  }
  /** The hub has answered to a state of ours: it knows what we hold, and what it says counts. */
  get isComplete(): boolean {
    return this.#isComplete;
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
  /** Members the hub has no state of yet. What was known of them here is still in `members`. */
  get expected(): ReadonlySet<string> {
    return this.#expected;
  }
  /** Databases of the hub that did not answer when it last spoke. */
  get silentDatabases(): readonly SilentDatabase[] {
    return this.#silentDatabases;
  }
  /** Of our own state, the newest that is in the hub's databases; 0 while it has none of this session. */
  get revision(): number {
    return this.#revision;
  }
  /** Unix milliseconds of the last update. */
  get receivedMs(): number {
    return this.#receivedMs;
  }
}
