/**
 * The life of a membership: join once, keep a session, be renamed, renew the certificate, leave.
 *
 * In: which hub and cluster (`want`), what to tell it (`tell`). Out: the hub's updates and how it stands. Called by
 * the agent. The key is stored before a request for it leaves the cluster, so that a crash at any step can be resumed
 * with the same token. Lost sessions are resumed with growing pauses. Until the hub has given this cluster another name,
 * it goes on by the one it has.
 */
import type { LinkState } from '../model/link-state.ts';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../../lib/desired/problem.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { backoffMs } from '../../lib/run/backoff.ts';
import { commonNameOf, createRequest, validityOf } from '../../lib/pki/certificate.ts';
import { openHubLink, type HubLink, type HubSession, type LinkIdentity } from '../link/client.ts';
import type { HubUpdate, MemberState } from '../model/messages.ts';
import { HubRefused, HubUnreachable } from '../link/protocol.ts';
import { readToken } from '../../lib/api/join-token.ts';
import type { IdentityStore, StoredIdentity } from './identity.ts';
import { redeemToken, type Wish } from './joining.ts';

const unreachable = { baseMs: 400, maxMs: 5000 };
/** A refusal lasts until a person acts; looking again now and then finds the new token or the renamed cluster. */
const usualRefusedMs = 5000;
const renewCheckMs = 60 * 60 * 1000;
/** A connection takes no longer where the hub and the way to it are well. */
const connectMs = 4000;

export interface MembershipOptions {
  readonly store: IdentityStore;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  readonly onUpdate: (update: HubUpdate) => void;
  readonly onChange: () => void;
  /** Pause after a refusal, in milliseconds; five seconds by default. */
  readonly refusedMs?: number;
  /** A hub with which no connection stands after so long does not answer. */
  readonly connectMs?: number;
}

const keyLost: Problem = {
  code: 'SecretUnavailable',
  message: 'the Secret of its identity is gone, and with it the key that the hub knows it by; put it back',
};

function isSameWish(a: Wish | undefined, b: Wish | undefined): boolean {
  return a?.cluster === b?.cluster && a?.hub === b?.hub && a?.tokenRef === b?.tokenRef;
}

const off: LinkState = { isJoined: false, isConnected: false, problem: undefined, notAfterMs: undefined };

export class Membership {
  readonly #options: MembershipOptions;
  readonly #refusedMs: number;
  #wish: Wish | undefined;
  #run: AbortController | undefined;
  /** Aborts when another name is wanted. */
  #naming = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #session: HubSession | undefined;
  #state: LinkState = off;
  #told: Omit<MemberState, 'revision'> | undefined;
  #revision = 0;
  /** A certificate that the hub no longer takes: a new token may replace it. */
  #rejected: string | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#refusedMs = options.refusedMs ?? usualRefusedMs;
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
    if (isSameWish(wish, this.#wish)) return;
    const isSameHub = wish !== undefined && wish.hub === this.#wish?.hub;
    this.#wish = wish;
    this.#naming.abort();
    this.#naming = new AbortController();
    if (isSameHub) {
      const { renaming: _, ...state } = this.#state;
      this.#state = state;
      return this.#called(state.cluster);
    }
    this.#run?.abort();
    this.#run = undefined;
    if (wish === undefined) {
      this.#told = undefined;
      return;
    }
    const run = new AbortController();
    this.#run = run;
    this.#running = this.#running.then(() => this.#keep(run.signal));
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
    // A membership that is wanted meanwhile begins when this has ended.
    this.#running = this.#running.then(() => this.#leaveUntilDone(hub, signal));
    await this.#running;
  }

  async #leaveUntilDone(hub: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const problem = await this.#attempt(() => this.#leaveOnce(hub, signal));
      if (problem === undefined) return;
      this.#set({ ...this.#state, isConnected: false, problem });
      await sleep(backoffMs(attempt, unreachable, this.#options.random), undefined, { signal }).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.want(undefined);
    await this.#running;
  }

  async #keep(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const [wish, naming] = [this.#wish, this.#naming.signal];
      if (wish === undefined) break;
      const problem = await this.#attempt(async () => {
        const identity = await this.#identity(wish);
        await this.#hold(wish.hub, identity, signal);
      });
      if (signal.aborted) break;
      failures = this.#state.isConnected ? 0 : failures + 1;
      this.#set({ ...this.#state, isConnected: false, problem });
      if (problem !== undefined) this.#options.log.warn({ hub: wish.hub, reason: problem.code }, problem.message);
      const isRefused = problem !== undefined && problem.code !== 'HubUnreachable';
      const delayMs = isRefused ? this.#refusedMs : backoffMs(failures, unreachable, this.#options.random);
      await sleep(delayMs, undefined, { signal: AbortSignal.any([signal, naming]) }).catch(() => undefined);
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
    const { key, certificate, ca } = stored;
    this.#called(commonNameOf(certificate));
    // Where an answer was lost, the hub knows this cluster by the new name only.
    const renamed = this.#state.renaming === undefined ? undefined : await this.#rename(wish);
    return renamed ?? { key, certificate, ca };
  }

  /** As long as a session lasts: the name that is wanted, as soon as there is a token for it. */
  async #followName(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = AbortSignal.any([signal, this.#naming.signal]);
      const wish = this.#wish;
      if (wish !== undefined && this.#state.renaming !== undefined) await this.#rename(wish);
      if (next.aborted) continue;
      if (this.#state.renaming === undefined) await once(next, 'abort');
      else await sleep(this.#refusedMs, undefined, { signal: next }).catch(() => undefined);
    }
  }

  /** The hub takes the new name with all that this cluster has; until then it goes on by the name it has. */
  async #rename(wish: Wish): Promise<LinkIdentity | undefined> {
    let identity: LinkIdentity | undefined;
    const problem = await this.#attempt(async () => {
      const stored = await this.#options.store.load();
      if (stored === undefined) throw new HubRefused(keyLost);
      identity = await this.#join(wish, stored);
    });
    if (problem === undefined || this.#wish !== wish) return identity;
    const message = `this cluster goes on as "${this.#state.cluster}" until the hub calls it "${wish.cluster}": ${problem.message}`;
    if (this.#state.renaming?.message !== message)
      this.#options.log.warn({ hub: wish.hub, reason: problem.code }, message);
    this.#set({ ...this.#state, renaming: { code: problem.code, message } });
    return undefined;
  }

  /** The hub calls this cluster so. */
  #called(name: string | undefined): void {
    const { renaming, cluster, ...state } = this.#state;
    const wanted = this.#wish?.cluster;
    if (name === undefined) return this.#set(state);
    if (wanted === undefined || wanted === name) return this.#set({ ...state, cluster: name });
    const message = `this cluster is on its way from the name "${name}" to "${wanted}"`;
    const why = cluster === name ? renaming : undefined;
    this.#set({ ...state, cluster: name, renaming: why ?? { code: 'Renaming', message } });
  }

  async #join(wish: Wish, stored: StoredIdentity | undefined): Promise<LinkIdentity> {
    const isNew = this.#state.renaming === undefined;
    if (isNew) this.#set({ ...this.#state, isJoined: false });
    const chassis = (this.#told?.gateways ?? []).map((gateway) => gateway.chassis);
    const identity = await redeemToken(wish, { store: this.#options.store, stored, chassis });
    this.#options.log.info({ hub: wish.hub, cluster: wish.cluster }, isNew ? 'joined' : 'renamed');
    this.#set({ ...this.#state, notAfterMs: validityOf(identity.certificate).notAfterMs });
    this.#called(wish.cluster);
    return identity;
  }

  /** One session, to its end. @throws HubRefused, HubUnreachable */
  async #hold(hub: string, identity: LinkIdentity, signal: AbortSignal): Promise<void> {
    const { notAfterMs } = validityOf(identity.certificate);
    this.#set({ ...this.#state, isJoined: identity.certificate !== this.#rejected, notAfterMs });
    const link = openHubLink(hub, identity);
    const over = new AbortController();
    const renewal = setInterval(() => void this.#tryToRenew(hub), renewCheckMs);
    const following = this.#followName(over.signal);
    try {
      await this.#talk(link, hub, signal);
    } catch (error) {
      const isOver = error instanceof HubRefused && ['NotAMember', 'CertificateInvalid'].includes(error.code);
      if (isOver) {
        this.#rejected = identity.certificate;
        this.#set({ ...this.#state, isJoined: false });
      }
      throw error;
    } finally {
      over.abort();
      clearInterval(renewal);
      this.#session = undefined;
      link.close();
      await following;
    }
  }

  async #talk(link: HubLink, hub: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const late = setTimeout(() => {
      // It hears us: what it has to say waits for its databases, or is long.
      if (link.isConnected()) return;
      const message = `the hub at ${hub} does not answer, its keep-alive neither: its process is frozen, or packets to it are dropped on the way`;
      this.#set({ ...this.#state, problem: { code: 'HubUnreachable', message } });
    }, this.#options.connectMs ?? connectMs);
    const session = link.session({
      onUpdate: (update) => {
        clearTimeout(late);
        if (!this.#state.isConnected) {
          this.#options.log.info({ hub }, 'connected');
          this.#rejected = undefined;
          this.#set({ ...this.#state, isJoined: true, isConnected: true, problem: undefined });
          void this.#tryToRenew(hub);
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
      if (!signal.aborted) throw new HubUnreachable(`the hub at ${hub} ended the session`);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
    }
  }

  /** What is in the way is said as long as it is. */
  async #tryToRenew(hub: string): Promise<void> {
    const problem = await this.#attempt(() => this.#renew(hub));
    if (problem !== undefined && this.#state.renewal?.message !== problem.message)
      this.#options.log.warn({ hub, reason: problem.code }, `the certificate is not renewed: ${problem.message}`);
    const { renewal: _, ...state } = this.#state;
    this.#set(problem === undefined ? state : { ...state, renewal: problem });
  }

  /** At two thirds of its life. The next session uses the new one; the present, whose own may be of a former name, goes on. */
  async #renew(hub: string): Promise<void> {
    const stored = await this.#options.store.load();
    if (stored?.certificate === undefined || stored.ca === undefined) return;
    const { key, certificate, ca } = stored;
    const { notBeforeMs, notAfterMs } = validityOf(certificate);
    if (this.#options.now() < notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3) return;
    const cluster = commonNameOf(certificate) ?? '';
    const link = openHubLink(hub, { key, certificate, ca });
    try {
      const issued = await link.renew(await createRequest(key, cluster));
      await this.#options.store.save({ ...stored, ...issued });
      this.#set({ ...this.#state, notAfterMs: validityOf(issued.certificate).notAfterMs });
      this.#options.log.info({ cluster }, 'renewed the certificate');
    } finally {
      link.close();
    }
  }

  async #leaveOnce(hub: string, signal: AbortSignal): Promise<void> {
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
    if (!signal.aborted) await this.#options.store.remove();
  }

  #set(state: LinkState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.#options.onChange();
  }
}
