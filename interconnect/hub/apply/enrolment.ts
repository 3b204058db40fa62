/**
 * Enrolment of members: redeems tokens, issues certificates, ends memberships. Writes the registry before it answers.
 */
import { verifyToken } from '../../../lib/pki/join-token.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { verifyRequest, type VerifiedRequest } from '../../../lib/pki/certificate.ts';
import { issueMember } from '../../link/certificate.ts';
import type { IssuedIdentity } from '../../model/messages.ts';
import { hubUnavailable } from '../../link/protocol.ts';
import type { Caller } from '../../link/server.ts';
import { DatabasesSilent } from '../model/errors.ts';
import { refuseEnrolment } from '../settle/enrolment.ts';
import type { Registry } from './registry.ts';
import { StoreUnavailable, usualLimits, type Membership, type RedeemedToken } from '../model/store.ts';

/** Work that failed because the API server or the databases were away is tried again after this time. */
const retryMs = 10_000;

export interface EnrolmentOptions {
  readonly registry: Registry;
  readonly isForeign: (name: string) => boolean;
  /** Removes the member's rows; resolves when none is left. */
  readonly removeMember: (name: string) => Promise<void>;
  /** Why the member `before` may not be renamed to `name`; `chassis`: those of its gateways, as it reports them. */
  readonly refuseRename: (before: string, name: string, chassis: readonly string[]) => Problem | undefined;
  /** The member `before` has another name now; resolves when the databases have it. */
  readonly renameMember: (before: string, name: string) => Promise<void>;
  /** Ends the session of a key that was replaced. */
  readonly endSession: (name: string, problem: Problem) => void;
  readonly now: () => number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

export class Enrolment {
  readonly #options: EnrolmentOptions;
  /** Names of deleted HubMembers whose rows may still exist. */
  readonly #ended = new Set<string>();
  #queue: Promise<unknown> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: EnrolmentOptions) {
    this.#options = options;
  }

  /** `chassis`: of the gateways of the cluster that asks. A key that is a member under another name renames it. */
  join(token: string, certificateRequest: string, chassis: readonly string[]): Promise<IssuedIdentity | Problem> {
    return this.#oneByOne('admit a member', () => this.#join(token, certificateRequest, chassis));
  }

  async renew(caller: Caller, certificateRequest: string): Promise<IssuedIdentity | Problem> {
    const problem = this.refuseCaller(caller);
    if (problem !== undefined) return problem;
    const request = await verifyRequest(certificateRequest);
    if (request?.fingerprint !== caller.fingerprint)
      return { code: 'RequestInvalid', message: 'a renewal must ask for the key of the present certificate' };
    return await this.#issue(request, caller.cluster);
  }

  /**
   * Leaving twice, or with the key of a membership that was replaced, is no error and changes nothing. The key
   * identifies the member: one whose new certificate was lost on the way does not know its name yet.
   */
  leave(caller: Caller): Promise<Problem | undefined> {
    return this.#complete('release a member', async () => {
      const member = this.#options.registry.withKey(caller.fingerprint);
      if (member !== undefined) await this.#finish(member.cluster);
    });
  }

  /** Completes steps that a crash or an absent API server interrupted. Undefined: all steps are complete. */
  resume(): Promise<Problem | undefined> {
    return this.#complete('remove the rest of former members', async () => {
      const { registry } = this.#options;
      await registry.complete();
      const members = Array.from(registry.members());
      for (const { cluster, leaving } of members) if (leaving) await this.#finish(cluster);
      await this.#endAll();
    });
  }

  /** The HubMember was deleted. */
  ended(cluster: string): Promise<Problem | undefined> {
    this.#ended.add(cluster);
    return this.#complete('end a membership', () => this.#endAll());
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
  }

  /** Undefined: the caller is a member today. */
  refuseCaller({ cluster, fingerprint }: Caller): Problem | undefined {
    const member = this.#options.registry.member(cluster);
    if (member?.fingerprint === fingerprint && !member.leaving) return undefined;
    return notAMember(cluster);
  }

  async #join(
    token: string,
    certificateRequest: string,
    chassis: readonly string[],
  ): Promise<IssuedIdentity | Problem> {
    const { registry, log, now } = this.#options;
    const claims = verifyToken(registry.authority, token);
    if ('code' in claims) return claims;
    const request = await verifyRequest(certificateRequest);
    if (request === undefined)
      return { code: 'RequestInvalid', message: 'the certificate request is malformed or not signed by its key' };
    const { cluster, id, expiresMs, allowedPrefixes } = claims;
    const { fingerprint } = request;
    const [redeemed, member] = [await registry.token(id), registry.member(cluster)];
    const isForeign = this.#options.isForeign(cluster);
    const before = this.#formerly(cluster, fingerprint);
    const named = registry.nameOf(cluster);
    const handleOf = named === cluster ? undefined : named;
    const isAwaited = member === undefined && registry.has(cluster);
    const claim = { claims, fingerprint, redeemed, member, renamed: before?.cluster, handleOf, isAwaited, isForeign };
    const problem =
      refuseEnrolment({ ...claim, nowMs: now() }) ??
      (before === undefined ? undefined : this.#options.refuseRename(before.cluster, cluster, chassis));
    if (problem !== undefined) {
      log.warn({ cluster, token: id, reason: problem.code }, problem.message);
      return problem;
    }
    const redeeming = { id, cluster, fingerprint, expiresMs, spent: false };
    if (before !== undefined) {
      await this.#rename(before, redeeming);
      return await this.#issue(request, cluster);
    }
    await registry.join(
      { ...member, cluster, fingerprint, token: id, joinedMs: member?.joinedMs ?? now(), leaving: false },
      redeeming,
      { ...usualLimits, allowedPrefixes },
    );
    if (member !== undefined && member.fingerprint !== fingerprint) {
      this.#options.endSession(cluster, notAMember(cluster));
      await registry.spendOrphans();
    }
    log.info({ cluster, token: id }, 'member joined');
    return await this.#issue(request, cluster);
  }

  /** The membership of this key, where it has another name. */
  #formerly(cluster: string, fingerprint: string): Membership | undefined {
    const member = this.#options.registry.withKey(fingerprint);
    return member === undefined || member.leaving || member.cluster === cluster ? undefined : member;
  }

  /** Its ports, limits and session stay; the certificate of its former name is no longer valid. */
  async #rename(before: Membership, token: RedeemedToken): Promise<void> {
    const { registry, renameMember, log } = this.#options;
    const { cluster, id } = token;
    await registry.rename(before.cluster, { ...before, cluster, formerName: before.cluster, token: id }, token);
    await renameMember(before.cluster, cluster);
    await registry.spendOrphans();
    log.info({ cluster, token: id, formerName: before.cluster }, 'member renamed');
  }

  async #endAll(): Promise<void> {
    const { registry, removeMember, log } = this.#options;
    for (const cluster of this.#ended) {
      // A new membership of that name may have begun meanwhile: that one stays.
      if (registry.member(cluster) === undefined) {
        await removeMember(cluster);
        log.info({ cluster }, 'the HubMember was deleted, the membership has ended');
      }
      this.#ended.delete(cluster);
    }
    await registry.spendOrphans();
  }

  async #finish(cluster: string): Promise<void> {
    const { registry, log } = this.#options;
    if (registry.member(cluster) === undefined) return;
    await registry.setLeaving(cluster);
    await this.#options.removeMember(cluster);
    await registry.remove(cluster);
    await registry.spendOrphans();
    log.info({ cluster }, 'member left');
  }

  async #issue(request: VerifiedRequest, cluster: string): Promise<IssuedIdentity> {
    const { registry, now } = this.#options;
    const certificate = await issueMember(registry.authority, request.publicKey, cluster, now());
    return { certificate, ca: registry.authority.certificate };
  }

  /** The end of a membership has to be completed, now or later. */
  async #complete(what: string, work: () => Promise<void>): Promise<Problem | undefined> {
    const problem = await this.#oneByOne(what, async () => {
      await work();
      return undefined;
    });
    if (problem === undefined || this.#isClosed) return problem;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.resume(), retryMs);
    return problem;
  }

  /** Two redeemers of one token must not both find it unused. */
  #oneByOne<T>(what: string, work: () => Promise<T>): Promise<T | Problem> {
    const next = this.#queue.then(work).catch((error: unknown): Problem => {
      if (!(error instanceof StoreUnavailable || error instanceof DatabasesSilent)) throw error;
      const problem = { code: hubUnavailable, message: `the hub cannot ${what} now: ${error.message}; try again` };
      this.#options.log.warn({ reason: problem.code }, problem.message);
      return problem;
    });
    this.#queue = next.catch(() => undefined);
    return next;
  }
}

function notAMember(cluster: string): Problem {
  const message = `the hub has no member ${cluster} with this key (it left, or another cluster took the name); join with a new token`;
  return { code: 'NotAMember', message };
}
