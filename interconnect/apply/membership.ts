/**
 * The life of a membership: join once, keep a session, renew the certificate, leave.
 *
 * In: which hub and cluster (`want`), what to tell it (`tell`). Out: the hub's updates and how it stands. Called by
 * the agent. The key is stored before a request for it leaves the cluster, so that a crash at any step can be resumed
 * with the same token. Lost sessions are resumed with growing pauses.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../../lib/desired/problem.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { backoffMs } from '../../lib/run/backoff.ts';
import { commonNameOf, createKey, createRequest, validityOf } from '../link/certificate.ts';
import { joinHub, openHubLink, type HubLink, type HubSession, type LinkIdentity } from '../link/client.ts';
import type { HubUpdate, MemberState } from '../link/messages.ts';
import { HubRefused, HubUnreachable } from '../link/protocol.ts';
import { readToken } from '../../lib/api/join-token.ts';
import type { IdentityStore, StoredIdentity } from './identity.ts';

const unreachable = { baseMs: 400, maxMs: 5000 };
/** A refusal lasts until a person acts; looking again now and then finds the new token or the renamed cluster. */
const refusedMs = 5000;
const renewCheckMs = 60 * 60 * 1000;

export interface Wish {
  readonly cluster: string;
  readonly hub: string;
  /** The join token's text; undefined while there is none. */
  readonly readToken: () => Promise<string | undefined>;
}

export interface LinkState {
  readonly isJoined: boolean;
  /** The hub has answered in the present session. */
  readonly isConnected: boolean;
  /** Why it is not joined or not connected. */
  readonly problem: Problem | undefined;
  readonly notAfterMs: number | undefined;
}

export interface MembershipOptions {
  readonly store: IdentityStore;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  readonly onUpdate: (update: HubUpdate) => void;
  readonly onChange: () => void;
}

const off: LinkState = { isJoined: false, isConnected: false, problem: undefined, notAfterMs: undefined };

export class Membership {
  readonly #options: MembershipOptions;
  #wish: Wish | undefined;
  #run: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #session: HubSession | undefined;
  #state: LinkState = off;
  #told: Omit<MemberState, 'revision'> | undefined;
  #revision = 0;
  /** A certificate that the hub no longer takes: a new token may replace it. */
  #rejected: string | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Of what was told, the newest. */
  get revision(): number {
    return this.#revision;
  }

  /** Undefined ends the session; the identity stays. */
  want(wish: Wish | undefined): void {
    if (wish?.cluster === this.#wish?.cluster && wish?.hub === this.#wish?.hub) return;
    this.#wish = wish;
    this.#run?.abort();
    this.#run = undefined;
    if (wish === undefined) {
      this.#told = undefined;
      return;
    }
    const run = new AbortController();
    this.#run = run;
    this.#running = this.#running.then(() => this.#keep(wish, run.signal));
  }

  /** What the hub is to know of this cluster from now on. */
  tell(state: Omit<MemberState, 'revision'>): void {
    if (JSON.stringify(state) === JSON.stringify(this.#told)) return;
    this.#told = state;
    this.#revision += 1;
    this.#session?.send({ ...state, revision: this.#revision });
  }

  /** Ends the membership at the hub and forgets the identity; keeps trying until done or aborted. */
  async leave(hub: string, signal: AbortSignal): Promise<void> {
    this.want(undefined);
    await this.#running;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const problem = await this.#attempt(() => this.#leaveOnce(hub));
      if (problem === undefined) return;
      this.#set({ ...this.#state, isConnected: false, problem });
      await sleep(backoffMs(attempt, unreachable, this.#options.random), undefined, { signal }).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.want(undefined);
    await this.#running;
  }

  async #keep(wish: Wish, signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const problem = await this.#attempt(async () => {
        const identity = await this.#identity(wish);
        await this.#hold(wish, identity, signal);
      });
      if (signal.aborted) break;
      failures = this.#state.isConnected ? 0 : failures + 1;
      this.#set({ ...this.#state, isConnected: false, problem });
      if (problem !== undefined) this.#options.log.warn({ hub: wish.hub, reason: problem.code }, problem.message);
      const isRefused = problem !== undefined && problem.code !== 'HubUnreachable';
      const delayMs = isRefused ? refusedMs : backoffMs(failures, unreachable, this.#options.random);
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    }
    this.#set(off);
  }

  /** What can be expected to go wrong becomes a problem; everything else is a defect. */
  async #attempt(work: () => Promise<void>): Promise<Problem | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      if (error instanceof HubRefused || error instanceof HubUnreachable)
        return { code: error.code, message: error.message };
      if (isKubeError(error))
        return { code: 'SecretUnavailable', message: `the Secret of this cluster's identity: ${error.message}` };
      throw error;
    }
  }

  async #identity(wish: Wish): Promise<LinkIdentity> {
    const stored = await this.#options.store.load();
    if (stored?.certificate === undefined || stored.ca === undefined) return await this.#join(wish, stored);
    if (stored.certificate === this.#rejected) {
      const claims = readToken((await wish.readToken()) ?? '');
      if (!('code' in claims) && claims.id !== stored.token) return await this.#join(wish, stored);
    }
    const name = commonNameOf(stored.certificate);
    if (name !== wish.cluster) {
      const message = `this cluster joined as "${name}", which is fixed; to rename it, delete the Interconnect and make it again with a new token`;
      throw new HubRefused({ code: 'ClusterNameFixed', message });
    }
    return { key: stored.key, certificate: stored.certificate, ca: stored.ca };
  }

  async #join(wish: Wish, stored: StoredIdentity | undefined): Promise<LinkIdentity> {
    this.#set({ ...this.#state, isJoined: false });
    const token = await wish.readToken();
    if (token === undefined)
      throw new HubRefused({
        code: 'TokenMissing',
        message: 'the Secret with the join token is not there or lacks the key',
      });
    const claims = readToken(token);
    if ('code' in claims) throw new HubRefused(claims);
    if (claims.cluster !== wish.cluster) {
      const message = `the join token is for cluster "${claims.cluster}", this is "${wish.cluster}"`;
      throw new HubRefused({ code: 'TokenForOtherCluster', message });
    }
    const key = stored?.key ?? (await createKey());
    if (stored === undefined) await this.#options.store.save({ key });
    const issued = await joinHub(wish.hub, claims.ca, token, await createRequest(key, wish.cluster));
    await this.#options.store.save({ key, ...issued, token: claims.id });
    this.#options.log.info({ hub: wish.hub, cluster: wish.cluster }, 'joined');
    return { key, ...issued };
  }

  /** One session, to its end. @throws HubRefused, HubUnreachable */
  async #hold(wish: Wish, identity: LinkIdentity, signal: AbortSignal): Promise<void> {
    const { notAfterMs } = validityOf(identity.certificate);
    this.#set({ ...this.#state, isJoined: identity.certificate !== this.#rejected, notAfterMs });
    const link = openHubLink(wish.hub, identity);
    const renewal = setInterval(() => void this.#attempt(() => this.#renew(link, wish.cluster)), renewCheckMs);
    try {
      await this.#talk(link, wish, identity, signal);
    } catch (error) {
      const isOver = error instanceof HubRefused && ['NotAMember', 'CertificateInvalid'].includes(error.code);
      if (isOver) {
        this.#rejected = identity.certificate;
        this.#set({ ...this.#state, isJoined: false });
      }
      throw error;
    } finally {
      clearInterval(renewal);
      this.#session = undefined;
      link.close();
    }
  }

  async #talk(link: HubLink, wish: Wish, identity: LinkIdentity, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const session = link.session({
      onUpdate: (update) => {
        if (!this.#state.isConnected) {
          this.#options.log.info({ hub: wish.hub }, 'connected');
          this.#rejected = undefined;
          this.#set({ ...this.#state, isJoined: true, isConnected: true, problem: undefined });
          void this.#attempt(() => this.#renew(link, wish.cluster));
        }
        this.#options.onUpdate(update);
      },
      onEnd: (error) => (error === undefined ? resolve() : reject(error)),
    });
    this.#session = session;
    if (this.#told !== undefined) session.send({ ...this.#told, revision: this.#revision });
    const stop = (): void => session.end();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      await promise;
      if (!signal.aborted) throw new HubUnreachable(`the hub at ${wish.hub} ended the session`);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** At two thirds of its life. The next session uses the new one; the present goes on. */
  async #renew(link: HubLink, cluster: string): Promise<void> {
    const stored = await this.#options.store.load();
    if (stored?.certificate === undefined) return;
    const { notBeforeMs, notAfterMs } = validityOf(stored.certificate);
    if (this.#options.now() < notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3) return;
    const issued = await link.renew(await createRequest(stored.key, cluster));
    await this.#options.store.save({ ...stored, ...issued });
    this.#set({ ...this.#state, notAfterMs: validityOf(issued.certificate).notAfterMs });
    this.#options.log.info({ cluster }, 'renewed the certificate');
  }

  async #leaveOnce(hub: string): Promise<void> {
    const stored = await this.#options.store.load();
    if (stored?.certificate !== undefined && stored.ca !== undefined) {
      const link = openHubLink(hub, { key: stored.key, certificate: stored.certificate, ca: stored.ca });
      try {
        await link.leave();
      } catch (error) {
        // A certificate that is over, or of a hub that was made anew, has no membership to end.
        if (!(error instanceof HubRefused && error.code === 'CertificateInvalid')) throw error;
      } finally {
        link.close();
      }
    }
    await this.#options.store.remove();
  }

  #set(state: LinkState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.#options.onChange();
  }
}
