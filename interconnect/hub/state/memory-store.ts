/** A store in memory, for tests and for what runs without an API server. `isAway` makes it unreachable. */
import type { KeyAndCertificate } from '../../link/certificate.ts';
import type { AllocatedPort } from './record.ts';
import {
  StoreUnavailable,
  type HubStore,
  type MemberPresence,
  type MemberSpec,
  type Membership,
  type RedeemedToken,
  type StoredMember,
} from './registry.ts';

export class MemoryStore implements HubStore {
  readonly authority: KeyAndCertificate;
  isAway = false;
  readonly #members = new Map<string, StoredMember>();
  readonly #tokens = new Map<string, RedeemedToken>();
  readonly #listeners = new Set<(cluster: string, after: StoredMember | undefined) => void>();
  #made = 0;

  constructor(authority: KeyAndCertificate) {
    this.authority = authority;
  }

  members(): Iterable<StoredMember> {
    return [...this.#members.values()];
  }

  async create(cluster: string, spec: MemberSpec): Promise<StoredMember> {
    await this.#reach();
    const known = this.#members.get(cluster);
    if (known !== undefined) return known;
    this.#made += 1;
    const uid = String(this.#made);
    const member: StoredMember = { cluster, uid, createdMs: 0, spec, membership: undefined, ports: [], isStale: false };
    this.#put(member);
    return member;
  }

  async setMembership(membership: Membership): Promise<void> {
    await this.#reach();
    const known = this.#members.get(membership.cluster);
    if (known !== undefined) this.#put({ ...known, membership });
  }

  async remove(cluster: string): Promise<void> {
    await this.#reach();
    this.delete(cluster);
  }

  async tokens(): Promise<ReadonlyMap<string, RedeemedToken>> {
    await this.#reach();
    return new Map(this.#tokens);
  }

  async setTokens(tokens: readonly RedeemedToken[]): Promise<void> {
    await this.#reach();
    for (const token of tokens) this.#tokens.set(token.id, token);
  }

  report(cluster: string, ports: readonly AllocatedPort[], presence: MemberPresence): void {
    const known = this.#members.get(cluster);
    if (known !== undefined) this.#put({ ...known, ports, isStale: presence.state === 'Stale' });
  }

  subscribe(listener: (cluster: string, after: StoredMember | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As a person edits the object. */
  edit(cluster: string, change: Partial<StoredMember>): void {
    const known = this.#members.get(cluster);
    if (known !== undefined) this.#put({ ...known, ...change });
  }

  /** As a person deletes the object. */
  delete(cluster: string): void {
    this.#members.delete(cluster);
    for (const listener of this.#listeners) listener(cluster, undefined);
  }

  #put(member: StoredMember): void {
    this.#members.set(member.cluster, member);
    for (const listener of this.#listeners) listener(member.cluster, member);
  }

  /** As a request would: an answer, or the lack of it, comes later. */
  async #reach(): Promise<void> {
    await Promise.resolve();
    if (this.isAway) throw new StoreUnavailable('the API server cannot be reached: switched off by the test');
  }
}
