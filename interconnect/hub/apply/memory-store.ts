/** A store in memory, for tests. `isAway` makes it unreachable. */
import type { KeyAndCertificate } from '../../../lib/pki/certificate.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import {
  StoreUnavailable,
  type HubStore,
  type MemberFigures,
  type MemberSpec,
  type Membership,
  type RedeemedToken,
  type StoreListener,
  type StoredMember,
  type StoredReport,
} from '../model/store.ts';

export class MemoryStore implements HubStore {
  readonly authority: KeyAndCertificate;
  isAway = false;
  /** By handle. */
  readonly refused = new Map<string, Problem>();
  /** By handle. */
  readonly figures = new Map<string, MemberFigures>();
  readonly #members = new Map<string, StoredMember>();
  readonly #tokens = new Map<string, RedeemedToken>();
  readonly #listeners = new Set<StoreListener>();
  #made = 0;

  constructor(authority: KeyAndCertificate) {
    this.authority = authority;
  }

  members(): Iterable<StoredMember> {
    return [...this.#members.values()];
  }

  async create(handle: string, spec: MemberSpec): Promise<StoredMember> {
    await this.#reach();
    const known = this.#members.get(handle);
    if (known !== undefined) return known;
    this.#made += 1;
    const fresh = { uid: String(this.#made), createdMs: 0, membership: undefined, ports: [], isStale: false };
    const member: StoredMember = { cluster: handle, handle, spec, ...fresh };
    this.#put(member);
    return member;
  }

  async setMembership(handle: string, membership: Membership): Promise<void> {
    await this.#reach();
    const known = this.#members.get(handle);
    if (known !== undefined) this.#put({ ...known, cluster: membership.cluster, membership });
  }

  async remove(handle: string): Promise<void> {
    await this.#reach();
    this.delete(handle);
  }

  async tokens(): Promise<ReadonlyMap<string, RedeemedToken>> {
    await this.#reach();
    return new Map(this.#tokens);
  }

  async setTokens(tokens: readonly RedeemedToken[]): Promise<void> {
    await this.#reach();
    for (const token of tokens) this.#tokens.set(token.id, token);
  }

  report(handle: string, { ports, presence, figures }: StoredReport): void {
    const known = this.#members.get(handle);
    this.figures.set(handle, figures);
    if (known !== undefined) this.#put({ ...known, ports, isStale: presence.state === 'Stale' });
  }

  refuse(handle: string, problem: Problem): void {
    this.refused.set(handle, problem);
  }

  subscribe(listener: StoreListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As a person edits the object. */
  edit(handle: string, change: Partial<StoredMember>): void {
    const known = this.#members.get(handle);
    if (known !== undefined) this.#put({ ...known, ...change });
  }

  /** As a person deletes the object. */
  delete(handle: string): void {
    const uid = this.#members.get(handle)?.uid;
    this.#members.delete(handle);
    if (uid !== undefined) this.lateDelete(handle, uid);
  }

  /** A deletion as a late watch reports it. */
  lateDelete(handle: string, uid: string): void {
    for (const listener of this.#listeners) listener(handle, uid, undefined);
  }

  #put(member: StoredMember): void {
    this.#members.set(member.handle, member);
    for (const listener of this.#listeners) listener(member.handle, member.uid, member);
  }

  /** Like a request, it answers, or fails to answer, later. */
  async #reach(): Promise<void> {
    await Promise.resolve();
    if (this.isAway) throw new StoreUnavailable('the API server cannot be reached: switched off by the test');
  }
}
