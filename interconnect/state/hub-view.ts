/**
 * The hub's view of all members, assembled from its updates, for the rounds of `apply/member.ts`. It stays when a session is lost,
 * until the next full update.
 */
import type { HubUpdate, KeyAcceptance, Member, Rejection, SilentDatabase, TransitSwitch } from '../model/messages.ts';

/** Addresses within encrypted tunnels that the hub allocated. */
export interface HubTunnels {
  /** Empty if the hub knows of none. */
  readonly cidr: string;
  /** By chassis of this cluster's gateways. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Of the next keys of this cluster's gateways that were announced to other members. */
  readonly acceptances: readonly KeyAcceptance[];
}

const noTunnels: HubTunnels = { cidr: '', addresses: {}, acceptances: [] };

/** The changes of an update. */
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
  /** Members that are known here or expected by the hub, and that no update has mentioned since the last full one. */
  readonly #unmentioned = new Set<string>();
  #carriesExports: boolean | undefined;
  #tunnels: HubTunnels = noTunnels;
  #revision = 0;
  #updates = 0;
  #isReceived = false;
  #isComplete = false;
  #receivedMs = 0;

  /** `nowMs`: Unix milliseconds. */
  apply(update: HubUpdate, nowMs: number): HubNews {
    const mentioned = [...update.removed, ...update.members.map(({ name }) => name)];
    this.#expected = new Set(update.expected);
    for (const name of update.full ? this.#members.keys() : []) this.#unmentioned.add(name);
    for (const name of this.#expected) this.#unmentioned.add(name);
    for (const name of mentioned) this.#unmentioned.delete(name);
    for (const name of update.removed) this.#members.delete(name);
    for (const member of update.members) this.#members.set(member.name, member);
    const unknown = this.#unknownToHub(update);
    for (const name of unknown) {
      this.#unmentioned.delete(name);
      this.#members.delete(name);
    }
    const changed = new Set([...unknown, ...mentioned]);
    // A hub that has no state of this cluster yet does not know its networks: until it answers to a state, its view must
    // not remove them.
    if (update.revision > 0) this.#isComplete = true;
    // Equal switches stay the same object: plans are remembered by it.
    const isSwitches =
      (update.revision > 0 || !this.#isComplete) &&
      JSON.stringify(update.transitSwitches) !== JSON.stringify(this.#switches);
    if (isSwitches) this.#switches = update.transitSwitches;
    // Before it has received a state of this cluster in this session, the hub rejects nothing: its earlier rejections
    // still hold.
    if (update.revision > 0 || update.rejections.length > 0) this.#rejections = update.rejections;
    this.#silentDatabases = update.silentDatabases;
    this.#unreachedBy = update.tellsUnreached ? new Set(update.unreachedBy) : undefined;
    this.#carriesExports = update.carriesExports;
    if (update.revision > 0) this.#setTunnels(update);
    // An update that comes first, because the databases are silent, takes back nothing that was acknowledged.
    if (update.full || update.revision > 0) this.#revision = update.revision;
    this.#isReceived = true;
    this.#updates += 1;
    this.#receivedMs = nowMs;
    return { members: changed, isSwitches };
  }

  /** Equal values stay the same object. */
  #setTunnels(update: HubUpdate): void {
    const { tunnelCidr: cidr = '', tunnelAddresses: addresses = {}, keyAcceptances: acceptances = [] } = update;
    const tunnels = { cidr, addresses, acceptances };
    if (JSON.stringify(tunnels) !== JSON.stringify(this.#tunnels)) this.#tunnels = tunnels;
  }

  reset(): void {
    this.#tunnels = noTunnels;
    this.#members.clear();
    this.#switches = [];
    this.#rejections = [];
    this.#expected = new Set();
    this.#unmentioned.clear();
    this.#updates += 1;
    this.#silentDatabases = [];
    this.#unreachedBy = undefined;
    this.#carriesExports = undefined;
    this.#revision = 0;
    this.#isReceived = false;
    this.#isComplete = false;
  }

  /**
   * Members that no update mentioned and that the hub does not expect: the hub does not know them any more. Expected
   * members stay as they were until they connect to the hub again.
   */
  #unknownToHub({ full, revision }: HubUpdate): readonly string[] {
    // An update before the full one of a session contains no members.
    if (!full && revision === 0) return [];
    // An expected member with a name that is unknown here may be a renamed one of these.
    if (!full && this.#expected.values().some((name) => !this.#members.has(name))) return [];
    return [...this.#unmentioned].filter((name) => !this.#expected.has(name));
  }

  /** False until the first update: nothing may be concluded from an empty view. */
  get isReceived(): boolean {
    return this.#isReceived;
  }
  /** The hub has answered to a state of this cluster: it knows what this cluster holds, and its view counts. */
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
  /** Members the hub has no state of yet. What this cluster knew of them is still in `members`. */
  get expected(): ReadonlySet<string> {
    return this.#expected;
  }
  /** Databases of the hub that did not answer, by its last update. */
  get silentDatabases(): readonly SilentDatabase[] {
    return this.#silentDatabases;
  }
  /**
   * Connected members that report all of their paths to this cluster as down; undefined if the hub does not pass on such
   * reports.
   */
  get unreachedBy(): ReadonlySet<string> | undefined {
    return this.#unreachedBy;
  }
  /** Whether the hub carries exported Services; false of a hub of an earlier release, undefined before its first update. */
  get carriesExports(): boolean | undefined {
    return this.#carriesExports;
  }
  get tunnels(): HubTunnels {
    return this.#tunnels;
  }
  /** Revision of the newest state of this cluster in the hub's databases; 0 while they have none of this session. */
  get revision(): number {
    return this.#revision;
  }
  /** Number of updates and resets: it grows whenever a value of this view may have changed. */
  get updates(): number {
    return this.#updates;
  }
  /** Unix milliseconds of the last update. */
  get receivedMs(): number {
    return this.#receivedMs;
  }
}
