/** The last thing the hub said, put together from its updates. Kept over lost sessions; replaced by the next full one. */
import type { HubUpdate, Member, Rejection, SilentDatabase, TransitSwitch } from '../model/messages.ts';

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
  #unreachedBy: ReadonlySet<string> | undefined;
  /** Known or expected, and nothing has been said of them since the last full update. */
  readonly #unheard = new Set<string>();
  #revision = 0;
  #updates = 0;
  #isReceived = false;
  #isComplete = false;
  #receivedMs = 0;

  /** `nowMs`: Unix milliseconds. */
  apply(update: HubUpdate, nowMs: number): HubNews {
    const told = [...update.removed, ...update.members.map(({ name }) => name)];
    this.#expected = new Set(update.expected);
    for (const name of update.full ? this.#members.keys() : []) this.#unheard.add(name);
    for (const name of this.#expected) this.#unheard.add(name);
    for (const name of told) this.#unheard.delete(name);
    for (const name of update.removed) this.#members.delete(name);
    for (const member of update.members) this.#members.set(member.name, member);
    const over = this.#over(update);
    for (const name of over) {
      this.#unheard.delete(name);
      this.#members.delete(name);
    }
    const changed = new Set([...over, ...told]);
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
    this.#unreachedBy = update.tellsUnreached ? new Set(update.unreachedBy) : undefined;
    // What is told before anything else, because the databases are silent, takes back nothing that was acknowledged.
    if (update.full || update.revision > 0) this.#revision = update.revision;
    this.#isReceived = true;
    this.#updates += 1;
    this.#receivedMs = nowMs;
    return { members: changed, isSwitches };
  }

  reset(): void {
    this.#members.clear();
    this.#switches = [];
    this.#rejections = [];
    this.#expected = new Set();
    this.#unheard.clear();
    this.#updates += 1;
    this.#silentDatabases = [];
    this.#unreachedBy = undefined;
    this.#revision = 0;
    this.#isReceived = false;
    this.#isComplete = false;
  }

  /**
   * Of whom nothing was said and nothing is to come: the hub knows them no more. Those that it expects will be known again
   * when they speak to it, and stay as they were.
   */
  #over({ full, revision }: HubUpdate): readonly string[] {
    // What comes before the full update of a session says nothing of anybody.
    if (!full && revision === 0) return [];
    // One that is expected by a name unknown here may be any of them, renamed.
    if (!full && this.#expected.values().some((name) => !this.#members.has(name))) return [];
    return [...this.#unheard].filter((name) => !this.#expected.has(name));
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
  /** Connected members that say that every path of theirs to this cluster is down; undefined while the hub passes no such word on. */
  get unreachedBy(): ReadonlySet<string> | undefined {
    return this.#unreachedBy;
  }
  /** Of our own state, the newest that is in the hub's databases; 0 while it has none of this session. */
  get revision(): number {
    return this.#revision;
  }
  /** Another number whenever something of this view may be different. */
  get updates(): number {
    return this.#updates;
  }
  /** Unix milliseconds of the last update. */
  get receivedMs(): number {
    return this.#receivedMs;
  }
}
