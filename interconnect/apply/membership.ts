/**
 * The life of a membership: join once, keep a session, be renamed, renew the certificate, leave.
 *
 * In: the wanted hub and cluster (`want`), the state for the hub (`send`). Out: the hub's updates and the state of the
 * link. Called by the round. The key is stored before a request for it leaves the cluster, so that a crash at any step
 * can be resumed with the same token. Lost sessions are resumed with growing pauses. The cluster keeps its name until
 * the hub has given it another one.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { readToken } from '../../lib/pki/join-token.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { commonNameOf, validityOf } from '../../lib/pki/certificate.ts';
import { backoffMs } from '../../lib/run/backoff.ts';
import { openHubLink, type HubSession, type LinkIdentity } from '../link/client.ts';
import { HubRefused, HubUnreachable } from '../link/protocol.ts';
import { noLink, type LinkState, type MembershipGoal } from '../model/link-state.ts';
import type { ExportUpdate } from '../model/export-messages.ts';
import type { ExportedServices } from '../model/exported-service.ts';
import type { PodSet, PodUpdate, WantedSet } from '../model/pod-sets.ts';
import type { HubUpdate, MemberState, PathReport } from '../model/messages.ts';
import {
  connected,
  disconnected,
  endsMembership,
  isRefusal,
  isSameGoal,
  named,
  notRenamed,
  renewed,
} from '../settle/link-state.ts';
import { Link } from '../state/link.ts';
import { OwnPods } from '../state/own-pods.ts';
import { OwnExports } from '../state/own-exports.ts';
import { holdSession } from './hub-session.ts';
import type { IdentityStore, StoredIdentity } from './identity.ts';
import { redeemToken } from './joining.ts';
import { leaveHub } from './leaving.ts';
import { renewCertificate } from './renewal.ts';

const unreachable = { baseMs: 400, maxMs: 5000 };
/** A refusal lasts until a person acts; looking again now and then finds the new token or the renamed cluster. */
const usualRefusedMs = 5000;
const renewCheckMs = 60 * 60 * 1000;
/** Where the hub and the way to it are well, a connection takes no longer. */
const usualConnectMs = 4000;

export interface MembershipOptions {
  readonly store: IdentityStore;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  readonly onUpdate: (update: HubUpdate) => void;
  /** Returns false if the update builds on something that this cluster does not have. */
  readonly onExports: (update: ExportUpdate) => boolean;
  /** As `onExports`. */
  readonly onPods: (update: PodUpdate) => boolean;
  readonly onChange: () => void;
  /** Pause after a refusal, in milliseconds; five seconds by default. */
  readonly refusedMs?: number;
  /** A hub without an established connection after this time counts as not answering. */
  readonly connectMs?: number;
}

const keyLost: Problem = {
  code: 'SecretUnavailable',
  message:
    'the Secret with the identity of this cluster is missing, and with it the key with which the hub identifies the cluster; restore the Secret',
};

export class Membership {
  readonly #options: MembershipOptions;
  readonly #refusedMs: number;
  readonly #link: Link;
  #goal: MembershipGoal | undefined;
  #run: AbortController | undefined;
  /** Aborts when another name is wanted. */
  #naming = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #session: HubSession | undefined;
  /** Revision of the state that the hub has received in this session and not answered to yet. */
  #unanswered: number | undefined;
  readonly #exports = new OwnExports();
  /** A state was sent in this session: before it the hub reads no exports, because it cannot distinguish a copy of this cluster. */
  #isStateSent = false;
  #doesHubCarryExports = false;
  #paths: PathReport | undefined;
  /** Whether the hub of this session has the newest report of paths. */
  #arePathsSent = false;
  #doesHubTakePaths = false;
  /** Revision of the report of exports that the hub has not answered to yet. */
  #unansweredExports: number | undefined;
  readonly #pods = new OwnPods();
  #doesHubCarryPods = false;
  /** As `#unansweredExports`. */
  #unansweredPods: number | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#refusedMs = options.refusedMs ?? usualRefusedMs;
    this.#link = new Link(options.onChange);
  }

  get state(): LinkState {
    return this.#link.state;
  }

  /** Revision of the newest message for the hub. */
  get revision(): number {
    return this.#link.revision;
  }

  /** Undefined ends the session; the identity stays. */
  want(goal: MembershipGoal | undefined): void {
    if (isSameGoal(goal, this.#goal)) return;
    const isSameHub = goal !== undefined && goal.hub === this.#goal?.hub;
    this.#goal = goal;
    this.#naming.abort();
    this.#naming = new AbortController();
    if (isSameHub) {
      this.#link.forgetRenaming();
      return this.#setName(this.state.cluster);
    }
    this.#run?.abort();
    this.#run = undefined;
    if (goal === undefined) {
      this.#exports.forget();
      this.#pods.forget();
      this.#paths = undefined;
      return this.#link.forgetMessage();
    }
    const run = new AbortController();
    this.#run = run;
    this.#running = this.#running.then(() => this.#keep(run.signal));
  }

  /** Sends the state of this cluster, where it differs from the last one and as soon as the hub has answered to that. */
  send(state: Omit<MemberState, 'revision'>): void {
    if (this.#link.setMessage(state)) this.#sendNewest();
  }

  /**
   * Sends the exports of this cluster by `namespace/name`, and the namespaces that exist here, whose exports of others the
   * hub then sends: the whole once a session, then what has changed. To be called once both are fully known, and
   * whenever they change; the end of a membership forgets them. A hub of an earlier release (`HubView.carriesExports`) is sent nothing.
   */
  sendExports(own: ExportedServices, namespaces: ReadonlySet<string>): void {
    this.#exports.set(own, namespaces);
    this.#sendNewestExports();
  }

  /**
   * Sends what this cluster wants of the pods of others, and the sets of its pods that are known; of these, those that the hub asks for. A hub of an earlier
   * release is sent nothing.
   */
  sendPods(wanted: readonly WantedSet[], sets: ReadonlyMap<string, PodSet>): void {
    this.#pods.set(wanted, sets);
    this.#sendNewestPods();
  }

  /** Sends how the paths of this cluster stand, where that differs; to a hub of an earlier release (`HubUpdate.takesPaths`), nothing. */
  sendPaths(report: PathReport): void {
    if (isDeepStrictEqual(report, this.#paths)) return;
    this.#paths = report;
    this.#arePathsSent = false;
    this.#sendNewestPaths();
  }

  /** The hub knows what this cluster wants, and sends nothing else: what it sent before has arrived. */
  get arePodsSettled(): boolean {
    return this.#unansweredPods === undefined && this.#pods.isWantedSent;
  }

  /** The hub has answered to the exports of the last `sendExports`: what it refused of them is known. */
  get areExportsKnown(): boolean {
    return this.#exports.isSent && this.#unansweredExports === undefined;
  }

  /** Whether there are too many exports, of which this one, `namespace/name`, is not sent. */
  isSurplusExport(key: string): boolean {
    return this.#exports.isSurplus(key);
  }

  /** Ends the membership at the hub and forgets the identity; keeps trying until done or aborted. */
  async leave(hub: string, signal: AbortSignal): Promise<void> {
    this.want(undefined);
    // A membership that is wanted meanwhile begins when this has ended.
    this.#running = this.#running.then(() => this.#leaveUntilDone(hub, signal));
    await this.#running;
  }

  async close(): Promise<void> {
    this.want(undefined);
    await this.#running;
  }

  async #leaveUntilDone(hub: string, signal: AbortSignal): Promise<void> {
    const { store, random } = this.#options;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const problem = await this.#attempt(async () => {
        await leaveHub(hub, store);
        if (!signal.aborted) await store.remove();
      });
      if (problem === undefined) return;
      this.#link.set(disconnected(this.state, problem));
      await sleep(backoffMs(attempt, unreachable, random), undefined, { signal }).catch(() => undefined);
    }
  }

  async #keep(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const [goal, naming] = [this.#goal, this.#naming.signal];
      if (goal === undefined) break;
      const problem = await this.#attempt(async () => {
        const identity = await this.#identity(goal);
        await this.#hold(goal.hub, identity, signal);
      });
      if (signal.aborted as boolean) break;
      failures = this.state.isConnected ? 0 : failures + 1;
      this.#link.set(disconnected(this.state, problem));
      if (problem !== undefined) this.#options.log.warn({ hub: goal.hub, reason: problem.code }, problem.message);
      const delayMs = isRefusal(problem) ? this.#refusedMs : backoffMs(failures, unreachable, this.#options.random);
      await sleep(delayMs, undefined, { signal: AbortSignal.any([signal, naming]) }).catch(() => undefined);
    }
    this.#link.set(noLink);
  }

  /** Expected errors become problems; every other error is a defect. */
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

  async #identity(goal: MembershipGoal): Promise<LinkIdentity> {
    const stored = await this.#options.store.load();
    if (stored?.certificate === undefined || stored.ca === undefined) return await this.#join(goal, stored);
    if (stored.certificate === this.#link.rejected) {
      const claims = readToken((await goal.readToken()) ?? '');
      if (!('code' in claims) && claims.id !== stored.token) return await this.#join(goal, stored);
    }
    const { key, certificate, ca } = stored;
    this.#setName(commonNameOf(certificate));
    // Where an answer was lost, the hub has admitted this cluster by the new name only.
    const identity = this.state.renaming === undefined ? undefined : await this.#rename(goal);
    return identity ?? { key, certificate, ca };
  }

  /** Takes the wanted name as soon as a token for it exists, as long as a session lasts. */
  async #followName(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = AbortSignal.any([signal, this.#naming.signal]);
      const goal = this.#goal;
      if (goal !== undefined && this.state.renaming !== undefined) await this.#rename(goal);
      if (next.aborted) continue;
      if (this.state.renaming === undefined) await once(next, 'abort');
      else await sleep(this.#refusedMs, undefined, { signal: next }).catch(() => undefined);
    }
  }

  /** The hub keeps all that this cluster has under the new name. Undefined: it goes on by the name it has. */
  async #rename(goal: MembershipGoal): Promise<LinkIdentity | undefined> {
    let identity: LinkIdentity | undefined;
    const problem = await this.#attempt(async () => {
      const stored = await this.#options.store.load();
      if (stored === undefined) throw new HubRefused(keyLost);
      identity = await this.#join(goal, stored);
    });
    if (problem === undefined || this.#goal !== goal) return identity;
    const state = notRenamed(this.state, goal.cluster, problem);
    const message = state.renaming?.message ?? '';
    if (this.state.renaming?.message !== message)
      this.#options.log.warn({ hub: goal.hub, reason: problem.code }, message);
    this.#link.set(state);
    return undefined;
  }

  #setName(name: string | undefined): void {
    this.#link.set(named(this.state, name, this.#goal?.cluster));
  }

  async #join(goal: MembershipGoal, stored: StoredIdentity | undefined): Promise<LinkIdentity> {
    const { store, log } = this.#options;
    const isNew = this.state.renaming === undefined;
    if (isNew) this.#link.set({ ...this.state, isJoined: false });
    const chassis = (this.#link.message?.gateways ?? []).map((gateway) => gateway.chassis);
    const identity = await redeemToken(goal, { store, stored, chassis });
    log.info({ hub: goal.hub, cluster: goal.cluster }, isNew ? 'joined' : 'renamed');
    this.#link.set({ ...this.state, notAfterMs: validityOf(identity.certificate).notAfterMs });
    this.#setName(goal.cluster);
    return identity;
  }

  /** One session, to its end. @throws HubRefused, HubUnreachable */
  async #hold(hub: string, identity: LinkIdentity, signal: AbortSignal): Promise<void> {
    const { notAfterMs } = validityOf(identity.certificate);
    this.#link.set({ ...this.state, isJoined: identity.certificate !== this.#link.rejected, notAfterMs });
    const link = openHubLink(hub, identity);
    const over = new AbortController();
    const renewal = setInterval(() => void this.#tryToRenew(hub), renewCheckMs);
    const following = this.#followName(over.signal);
    const session = {
      link,
      hub,
      connectMs: this.#options.connectMs ?? usualConnectMs,
      onOpen: (open: HubSession) => {
        this.#session = open;
        this.#unanswered = undefined;
        this.#unansweredExports = undefined;
        this.#isStateSent = false;
        this.#unansweredPods = undefined;
        this.#doesHubCarryExports = false;
        this.#doesHubCarryPods = false;
        this.#doesHubTakePaths = false;
        this.#arePathsSent = false;
        this.#exports.begin();
        this.#pods.begin();
        this.#sendNewest();
      },
      onUpdate: (update: HubUpdate) => this.#updated(hub, update),
      onExports: (update: ExportUpdate) => this.#exportsUpdated(update),
      onPods: (update: PodUpdate) => this.#podsUpdated(update),
      onLate: () => {
        const message = `the hub at ${hub} answers neither requests nor keep-alives: its process is frozen, or packets to it are dropped on the way`;
        this.#link.set({ ...this.state, problem: { code: 'HubUnreachable', message } });
      },
    };
    try {
      await holdSession(session, signal);
    } catch (error) {
      if (error instanceof HubRefused && endsMembership(error.code)) {
        this.#link.rejected = identity.certificate;
        this.#link.set({ ...this.state, isJoined: false });
      }
      throw error;
    } finally {
      over.abort();
      clearInterval(renewal);
      this.#session = undefined;
      this.#exports.begin();
      this.#pods.begin();
      link.close();
      await following;
    }
  }

  /** A hub that is busy with states of the past would be late for every new one: it gets the next when it has answered to the last. */
  #sendNewest(): void {
    const { message } = this.#link;
    if (this.#session === undefined || message === undefined || this.#unanswered !== undefined) return;
    this.#unanswered = message.revision;
    this.#session.send(message);
    this.#isStateSent = true;
    this.#sendNewestExports();
    this.#sendNewestPods();
    this.#sendNewestPaths();
  }

  #answered(revision: number): void {
    if (this.#unanswered === undefined || revision < this.#unanswered) return;
    const isNewest = this.#unanswered === this.#link.revision;
    this.#unanswered = undefined;
    if (!isNewest) this.#sendNewest();
  }

  #updated(hub: string, update: HubUpdate): void {
    this.#answered(update.revision);
    this.#doesHubCarryExports = update.carriesExports;
    this.#doesHubCarryPods = update.carriesPods;
    this.#doesHubTakePaths = update.takesPaths;
    this.#sendNewestExports();
    this.#sendNewestPods();
    this.#sendNewestPaths();
    if (!this.state.isConnected) {
      this.#options.log.info({ hub }, 'connected');
      this.#link.rejected = undefined;
      this.#link.set(connected(this.state));
      void this.#tryToRenew(hub);
    }
    this.#options.onUpdate(update);
  }

  #sendNewestExports(): void {
    if (this.#session === undefined || !this.#isStateSent || !this.#doesHubCarryExports) return;
    if (this.#unansweredExports !== undefined) return;
    const report = this.#exports.next();
    if (report === undefined) return;
    this.#unansweredExports = report.revision;
    this.#session.sendExports(report);
  }

  /** After a state: before it the hub cannot distinguish a copy of this cluster. */
  #sendNewestPaths(): void {
    if (this.#session === undefined || this.#paths === undefined || this.#arePathsSent) return;
    if (!this.#isStateSent || !this.#doesHubTakePaths) return;
    this.#arePathsSent = true;
    this.#session.sendPaths(this.#paths);
  }

  #exportsUpdated(update: ExportUpdate): boolean {
    this.#exports.sendAgain(update.wanted);
    if (this.#unansweredExports !== undefined && update.revision >= this.#unansweredExports)
      this.#unansweredExports = undefined;
    this.#sendNewestExports();
    return this.#options.onExports(update);
  }

  #sendNewestPods(): void {
    if (this.#session === undefined || !this.#isStateSent || !this.#doesHubCarryPods) return;
    if (this.#unansweredPods !== undefined) return;
    const report = this.#pods.next();
    if (report === undefined) return;
    this.#unansweredPods = report.revision;
    this.#session.sendPods(report);
  }

  #podsUpdated(update: PodUpdate): boolean {
    if (update.asked !== null) this.#pods.asked(new Set(update.asked.sets.map(({ id }) => id)));
    if (this.#unansweredPods !== undefined && update.revision >= this.#unansweredPods) this.#unansweredPods = undefined;
    this.#sendNewestPods();
    return this.#options.onPods(update);
  }

  /** A problem that prevents a renewal stays in the state as long as it lasts. */
  async #tryToRenew(hub: string): Promise<void> {
    const { store, now, log } = this.#options;
    const problem = await this.#attempt(async () => {
      const certificate = await renewCertificate(hub, store, now());
      if (certificate === undefined) return;
      this.#link.set({ ...this.state, notAfterMs: certificate.notAfterMs });
      log.info({ cluster: certificate.cluster }, 'renewed the certificate');
    });
    if (problem !== undefined && this.state.renewal?.message !== problem.message)
      log.warn({ hub, reason: problem.code }, `the certificate is not renewed: ${problem.message}`);
    this.#link.set(renewed(this.state, problem));
  }
}
