/**
 * The stored memberships: each change is stored before it takes effect. In: the store's objects and their changes, and
 * the hub's decisions. Out: memberships at once; to listeners, the changes that a user made to a HubMember.
 */
import type { MemberSpec, Membership, RedeemedToken, StoredMember, StoredReport, HubStore } from '../model/store.ts';
import type { KeyAndCertificate } from '../../../lib/pki/certificate.ts';
import { Memberships, type Entry } from '../state/memberships.ts';

/** `appeared`: an object with which no cluster is known to have joined. */
export type RegistryChange = 'limits' | 'ended' | 'appeared';
export type RegistryListener = (cluster: string, change: RegistryChange) => void;

export class Registry extends Memberships {
  readonly #store: HubStore;
  /** Objects that the hub itself removed, or saw replaced: events of a late watch about them are out of date. */
  readonly #removed = new Set<string>();
  /** Handles whose object the hub is creating: an early event of the watch brings nothing new. */
  readonly #making = new Set<string>();
  readonly #listeners = new Set<RegistryListener>();
  readonly #unsubscribe: () => void;

  constructor(store: HubStore) {
    super();
    this.#store = store;
    for (const { cluster, ...entry } of [...store.members()].sort(compareClaims))
      if (!this.#isTaken(cluster, entry.handle)) this.put(cluster, entry);
    this.#unsubscribe = store.subscribe((handle, uid, after) => this.#changed(handle, uid, after));
  }

  get authority(): KeyAndCertificate {
    return this.#store.authority;
  }

  /** @throws StoreUnavailable */
  async token(id: string): Promise<RedeemedToken | undefined> {
    return (await this.#store.tokens()).get(id);
  }

  /** In an order that a crash at any step leaves the token to its redeemer. @throws StoreUnavailable */
  async join(membership: Membership, token: RedeemedToken, spec: MemberSpec): Promise<void> {
    const handle = this.handle(membership.cluster);
    this.#making.add(handle);
    try {
      await this.#join(handle, membership, token, spec);
    } finally {
      this.#making.delete(handle);
    }
  }

  async #join(handle: string, membership: Membership, token: RedeemedToken, spec: MemberSpec): Promise<void> {
    const { cluster } = membership;
    const stored = await this.#store.create(handle, spec);
    await this.#store.setTokens([tokenOf(token, handle)]);
    await this.#store.setMembership(handle, membership);
    const known = this.entry(cluster);
    if (known !== undefined && known.uid !== stored.uid) this.#removed.add(known.uid);
    const { ports, isStale } = known?.uid === stored.uid ? known : stored;
    const { uid, createdMs, spec: limits } = stored;
    this.put(cluster, { handle, uid, createdMs, spec: limits, membership, ports, isStale });
  }

  /**
   * Renames the member `before` to `membership.cluster`; it keeps all that it has. A crash half way leaves the token to
   * the member, which may ask again. @throws StoreUnavailable
   */
  async rename(before: string, membership: Membership, token: RedeemedToken): Promise<void> {
    const entry = this.entry(before);
    if (entry === undefined) return;
    await this.#store.setMembership(entry.handle, membership);
    await this.#store.setTokens([tokenOf(token, entry.handle)]);
    this.#move(before, membership.cluster, { ...entry, membership });
  }

  /**
   * Completes interrupted joins, and members that a backup restored without their status: the key that redeemed the
   * unspent token is the member. @throws StoreUnavailable
   */
  async complete(): Promise<void> {
    const lost = [...this.entries()].filter(([, { membership }]) => membership === undefined);
    if (lost.length === 0) return;
    const tokens = [...(await this.#store.tokens()).values()].sort((a, b) => b.expiresMs - a.expiresMs);
    for (const [name, entry] of lost) {
      const token = tokens.find((one) => handleOf(one) === entry.handle && !one.spent);
      if (token === undefined || this.nameOf(entry.handle) !== name || this.member(token.cluster) !== undefined)
        continue;
      const { fingerprint, id, cluster } = token;
      const membership = { cluster, fingerprint, token: id, joinedMs: entry.createdMs, leaving: false };
      await this.#store.setMembership(entry.handle, membership);
      this.#move(name, cluster, { ...entry, membership });
    }
  }

  /** @throws StoreUnavailable */
  async setLeaving(cluster: string): Promise<void> {
    const entry = this.entry(cluster);
    if (entry?.membership === undefined || entry.membership.leaving) return;
    const membership = { ...entry.membership, leaving: true };
    await this.#store.setMembership(entry.handle, membership);
    this.put(cluster, { ...entry, membership });
  }

  /** @throws StoreUnavailable */
  async remove(cluster: string): Promise<void> {
    const entry = this.entry(cluster);
    if (entry === undefined) return;
    this.#removed.add(entry.uid);
    await this.#store.remove(entry.handle);
    if (this.entry(cluster)?.uid === entry.uid) this.delete(cluster, entry.handle);
  }

  /** Tokens of memberships that are over cannot be redeemed again. @throws StoreUnavailable */
  async spendOrphans(): Promise<void> {
    const tokens = [...(await this.#store.tokens()).values()];
    const orphans = tokens.filter((token) => {
      const entry = this.entry(this.nameOf(handleOf(token)) ?? '');
      // An object without a membership is one whose redeemer was interrupted.
      const isOver = entry === undefined || (entry.membership !== undefined && entry.membership.token !== token.id);
      return !token.spent && isOver;
    });
    if (orphans.length > 0) await this.#store.setTokens(orphans.map((token) => ({ ...token, spent: true })));
  }

  /** Reports the member for its status; written when the store can be reached. */
  report(cluster: string, report: StoredReport): void {
    const entry = this.entry(cluster);
    if (entry?.membership === undefined) return;
    this.put(cluster, { ...entry, ports: report.ports, isStale: report.presence.state === 'Stale' });
    this.#store.report(entry.handle, report);
  }

  subscribe(listener: RegistryListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#unsubscribe();
  }

  /** The status is written by the hub, and the watch only repeats it: of a known object only the spec counts. */
  #changed(handle: string, uid: string, after: StoredMember | undefined): void {
    const cluster = this.nameOf(handle) ?? handle;
    const known = this.entry(cluster);
    if (after === undefined) {
      if (known?.uid !== uid) return;
      this.delete(cluster, handle);
      if (known.membership !== undefined && !this.#removed.has(known.uid)) this.#notify(cluster, 'ended');
      return;
    }
    if (this.#removed.has(uid) || this.#isTaken(cluster, handle)) return;
    if (known === undefined && this.#making.has(handle)) return;
    if (known?.uid !== uid) {
      const { createdMs, spec } = after;
      this.put(cluster, { handle, uid, createdMs, spec, membership: undefined, ports: [], isStale: false });
      this.#notify(cluster, known?.membership === undefined ? 'appeared' : 'ended');
      return;
    }
    this.put(cluster, { ...known, spec: after.spec });
    if (JSON.stringify(known.spec) !== JSON.stringify(after.spec)) this.#notify(cluster, 'limits');
  }

  /**
   * Whether the name belongs to the object of another member, which was renamed; this object then says so in its
   * status.
   */
  #isTaken(cluster: string, handle: string): boolean {
    const holder = this.handle(cluster);
    if (!this.has(cluster) || holder === handle) return false;
    const message = `the cluster of HubMember ${holder} is now called ${cluster}, so this object has no effect: delete it, and set limits of ${cluster} in HubMember ${holder}`;
    this.#store.refuse(handle, { code: 'NameTaken', message });
    return true;
  }

  /** Moves a member to its new name. From now on, an object of that name without a membership is ignored. */
  #move(before: string, cluster: string, entry: Entry): void {
    const other = this.entry(cluster);
    this.move(before, cluster, entry);
    if (other !== undefined && other.handle !== entry.handle) this.#isTaken(cluster, other.handle);
  }

  #notify(cluster: string, change: RegistryChange): void {
    for (const listener of this.#listeners) listener(cluster, change);
  }
}

/** The object with a membership comes first, then the older one. */
function compareClaims(a: StoredMember, b: StoredMember): number {
  return Number(b.membership !== undefined) - Number(a.membership !== undefined) || a.createdMs - b.createdMs;
}

function handleOf({ handle, cluster }: RedeemedToken): string {
  return handle ?? cluster;
}

function tokenOf(token: RedeemedToken, handle: string): RedeemedToken {
  return handle === token.cluster ? token : { ...token, handle };
}
