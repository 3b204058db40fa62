/**
 * Who is a member of this hub, with which key and which limits, and which tokens were redeemed. In: the store's objects
 * and their changes, and what the hub decides. Out: memberships at once, changes of others (a person who edits or
 * deletes a HubMember) to listeners. A membership is in the store before anybody is told of it.
 */
import type { KeyAndCertificate } from '../../link/certificate.ts';
import type { AllocatedPort } from './record.ts';

/** The person's part of a member. */
export interface MemberSpec {
  readonly allowedPrefixes: readonly string[];
  readonly maxPrefixes: number;
}

/** The hub's part of a member. */
export interface Membership {
  readonly cluster: string;
  /** SHA-256 of its public key, hex. */
  readonly fingerprint: string;
  /** Id of the token it joined with. */
  readonly token: string;
  readonly joinedMs: number;
  /** It said that it leaves; its rows may still be there. */
  readonly leaving: boolean;
}

export interface RedeemedToken {
  readonly id: string;
  readonly cluster: string;
  readonly fingerprint: string;
  readonly expiresMs: number;
  /** The membership it made has ended. */
  readonly spent: boolean;
}

/** What the store says of a member. */
export interface StoredMember {
  readonly cluster: string;
  /** Tells an object from a later one of the same name. */
  readonly uid: string;
  /** Unix milliseconds. */
  readonly createdMs: number;
  readonly spec: MemberSpec;
  /** Undefined: the object is there, but nobody has joined with it yet. */
  readonly membership: Membership | undefined;
  readonly ports: readonly AllocatedPort[];
  /** Whether it was given up as dead. */
  readonly isStale: boolean;
}

/** How a member is, for people to read. */
export interface MemberPresence {
  readonly state: 'Connected' | 'Absent' | 'Stale';
  /** Unix milliseconds of the last contact; 0: none known. */
  readonly lastSeenMs: number;
}

/** The store cannot be reached now. */
export class StoreUnavailable extends Error {
  readonly code = 'StoreUnavailable';
  override name = 'StoreUnavailable';
}

/** Where memberships are kept. Methods that write resolve once it is kept. @throws StoreUnavailable, from all that return promises */
export interface HubStore {
  readonly authority: KeyAndCertificate;
  members(): Iterable<StoredMember>;
  /** Makes the object where it is missing; the spec of one that is there stays. */
  create(cluster: string, spec: MemberSpec): Promise<StoredMember>;
  setMembership(membership: Membership): Promise<void>;
  remove(cluster: string): Promise<void>;
  /** By id. */
  tokens(): Promise<ReadonlyMap<string, RedeemedToken>>;
  setTokens(tokens: readonly RedeemedToken[]): Promise<void>;
  /** Written when the store can be reached, the newest of each member. */
  report(cluster: string, ports: readonly AllocatedPort[], presence: MemberPresence): void;
  /** Told of every change of an object, by whomever; undefined: it is gone. */
  subscribe(listener: (cluster: string, after: StoredMember | undefined) => void): () => void;
}

/** `appeared`: an object that nobody is known to have joined with. */
export type RegistryChange = 'limits' | 'ended' | 'appeared';
export type RegistryListener = (cluster: string, change: RegistryChange) => void;

type Entry = Omit<StoredMember, 'cluster'>;

export class Registry {
  readonly #store: HubStore;
  readonly #entries = new Map<string, Entry>();
  /** Objects that the hub itself removed: what a late watch still says of them is old. */
  readonly #removed = new Set<string>();
  readonly #listeners = new Set<RegistryListener>();
  readonly #unsubscribe: () => void;

  constructor(store: HubStore) {
    this.#store = store;
    for (const member of store.members()) this.#entries.set(member.cluster, member);
    this.#unsubscribe = store.subscribe((cluster, after) => this.#changed(cluster, after));
  }

  get authority(): KeyAndCertificate {
    return this.#store.authority;
  }

  member(cluster: string): Membership | undefined {
    return this.#entries.get(cluster)?.membership;
  }

  /** Everybody who has joined. */
  *members(): Generator<Membership> {
    for (const { membership } of this.#entries.values()) if (membership !== undefined) yield membership;
  }

  spec(cluster: string): MemberSpec {
    return this.#entries.get(cluster)?.spec ?? { allowedPrefixes: [], maxPrefixes: 0 };
  }

  /** Ports recorded for it. */
  ports(cluster: string): readonly AllocatedPort[] {
    return this.#entries.get(cluster)?.ports ?? [];
  }

  /** Whether it was given up as dead before. */
  isStale(cluster: string): boolean {
    return this.#entries.get(cluster)?.isStale === true;
  }

  /** @throws StoreUnavailable */
  async token(id: string): Promise<RedeemedToken | undefined> {
    return (await this.#store.tokens()).get(id);
  }

  /** In an order that a crash at any step leaves the token to its redeemer. @throws StoreUnavailable */
  async join(membership: Membership, token: RedeemedToken, spec: MemberSpec): Promise<void> {
    const { cluster } = membership;
    const stored = await this.#store.create(cluster, spec);
    await this.#store.setTokens([token]);
    await this.#store.setMembership(membership);
    const known = this.#entries.get(cluster);
    const { ports, isStale } = known?.uid === stored.uid ? known : stored;
    this.#entries.set(cluster, { ...stored, membership, ports, isStale });
  }

  /**
   * Joins that were cut short, and members that came from a backup without their status: whoever redeemed the token that
   * is not spent is the member. @throws StoreUnavailable
   */
  async complete(): Promise<void> {
    const lost = [...this.#entries].filter(([, { membership }]) => membership === undefined);
    if (lost.length === 0) return;
    const tokens = [...(await this.#store.tokens()).values()].sort((a, b) => b.expiresMs - a.expiresMs);
    for (const [cluster, entry] of lost) {
      const token = tokens.find((one) => one.cluster === cluster && !one.spent);
      if (token === undefined) continue;
      const { fingerprint, id } = token;
      const membership = { cluster, fingerprint, token: id, joinedMs: entry.createdMs, leaving: false };
      await this.#store.setMembership(membership);
      this.#entries.set(cluster, { ...entry, membership });
    }
  }

  /** @throws StoreUnavailable */
  async setLeaving(cluster: string): Promise<void> {
    const entry = this.#entries.get(cluster);
    if (entry?.membership === undefined || entry.membership.leaving) return;
    const membership = { ...entry.membership, leaving: true };
    await this.#store.setMembership(membership);
    this.#entries.set(cluster, { ...entry, membership });
  }

  /** @throws StoreUnavailable */
  async remove(cluster: string): Promise<void> {
    const entry = this.#entries.get(cluster);
    if (entry === undefined) return;
    this.#removed.add(entry.uid);
    await this.#store.remove(cluster);
    if (this.#entries.get(cluster)?.uid === entry.uid) this.#entries.delete(cluster);
  }

  /** Tokens of memberships that are over cannot be redeemed again. @throws StoreUnavailable */
  async spendOrphans(): Promise<void> {
    const tokens = [...(await this.#store.tokens()).values()];
    const orphans = tokens.filter(({ spent, cluster, id }) => {
      const entry = this.#entries.get(cluster);
      // An object that nobody has joined with is one whose redeemer was interrupted.
      return !spent && (entry === undefined || (entry.membership !== undefined && entry.membership.token !== id));
    });
    if (orphans.length > 0) await this.#store.setTokens(orphans.map((token) => ({ ...token, spent: true })));
  }

  /** What people see of it; kept when the store can be reached. */
  report(cluster: string, ports: readonly AllocatedPort[], presence: MemberPresence): void {
    const entry = this.#entries.get(cluster);
    if (entry?.membership === undefined) return;
    this.#entries.set(cluster, { ...entry, ports, isStale: presence.state === 'Stale' });
    this.#store.report(cluster, ports, presence);
  }

  subscribe(listener: RegistryListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Status is the hub's own word, which the watch only repeats: of an object that is known only the spec counts. */
  #changed(cluster: string, after: StoredMember | undefined): void {
    const known = this.#entries.get(cluster);
    if (after === undefined) {
      if (known === undefined) return;
      this.#entries.delete(cluster);
      if (known.membership !== undefined && !this.#removed.has(known.uid)) this.#tell(cluster, 'ended');
      return;
    }
    if (this.#removed.has(after.uid)) return;
    if (known?.uid !== after.uid) {
      this.#entries.set(cluster, { ...after, membership: undefined, ports: [], isStale: false });
      this.#tell(cluster, known?.membership === undefined ? 'appeared' : 'ended');
      return;
    }
    this.#entries.set(cluster, { ...known, spec: after.spec });
    if (JSON.stringify(known.spec) !== JSON.stringify(after.spec)) this.#tell(cluster, 'limits');
  }

  #tell(cluster: string, change: RegistryChange): void {
    for (const listener of this.#listeners) listener(cluster, change);
  }
}
