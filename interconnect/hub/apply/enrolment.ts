/** Who may be a member: redeems tokens, issues certificates, lets members go. Writes the registry before it answers. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { issueMember, verifyRequest, type VerifiedRequest } from '../../link/certificate.ts';
import type { IssuedIdentity } from '../../link/messages.ts';
import type { Caller } from '../../link/server.ts';
import { verifyToken } from '../../../lib/api/join-token.ts';
import { refuseEnrolment } from '../plan/enrolment.ts';
import type { Registry } from '../state/registry.ts';

export interface EnrolmentOptions {
  readonly registry: Registry;
  readonly isForeign: (name: string) => boolean;
  /** Removes the member's rows; resolves when none is left. */
  readonly removeMember: (name: string) => Promise<void>;
  readonly now: () => number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

export class Enrolment {
  readonly #options: EnrolmentOptions;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: EnrolmentOptions) {
    this.#options = options;
  }

  join(token: string, certificateRequest: string): Promise<IssuedIdentity | Problem> {
    return this.#oneByOne(() => this.#join(token, certificateRequest));
  }

  async renew(caller: Caller, certificateRequest: string): Promise<IssuedIdentity | Problem> {
    const problem = this.refuseCaller(caller);
    if (problem !== undefined) return problem;
    const request = await verifyRequest(certificateRequest);
    if (request?.fingerprint !== caller.fingerprint)
      return { code: 'RequestInvalid', message: 'a renewal must ask for the key of the present certificate' };
    return await this.#issue(request, caller.cluster);
  }

  /** Leaving twice, or with the key of a membership that was replaced, is no error and touches nothing. */
  leave(caller: Caller): Promise<Problem | undefined> {
    return this.#oneByOne(async () => {
      const member = this.#options.registry.member(caller.cluster);
      if (member?.fingerprint === caller.fingerprint) await this.#finish(caller.cluster);
      return undefined;
    });
  }

  /** Completes what a crash cut short. */
  resume(): Promise<void> {
    return this.#oneByOne(async () => {
      const leaving = [...this.#options.registry.members()].filter((member) => member.leaving);
      for (const { cluster } of leaving) await this.#finish(cluster);
    });
  }

  /** Undefined: the caller is a member today. */
  refuseCaller({ cluster, fingerprint }: Caller): Problem | undefined {
    const member = this.#options.registry.member(cluster);
    if (member?.fingerprint === fingerprint && !member.leaving) return undefined;
    const message = `this key is no member ${cluster} of the hub (it left, or another took the name); join with a new token`;
    return { code: 'NotAMember', message };
  }

  async #join(token: string, certificateRequest: string): Promise<IssuedIdentity | Problem> {
    const { registry, log, now } = this.#options;
    const claims = verifyToken(registry.authority, token);
    if ('code' in claims) return claims;
    const request = await verifyRequest(certificateRequest);
    if (request === undefined)
      return { code: 'RequestInvalid', message: 'the certificate request is malformed or not signed by its key' };
    const { cluster, id } = claims;
    const { fingerprint } = request;
    const [redeemed, member] = [await registry.token(id), registry.member(cluster)];
    const isForeign = this.#options.isForeign(cluster);
    const problem = refuseEnrolment({ claims, fingerprint, redeemed, member, isForeign, nowMs: now() });
    if (problem !== undefined) {
      log.warn({ cluster, token: id, reason: problem.code }, problem.message);
      return problem;
    }
    if (member !== undefined && member.fingerprint !== fingerprint) await this.#spend(member.token);
    await registry.setToken({ id, cluster, fingerprint, spent: false });
    await registry.setMember({ cluster, fingerprint, token: id, joinedMs: member?.joinedMs ?? now(), leaving: false });
    log.info({ cluster, token: id }, 'member joined');
    return await this.#issue(request, cluster);
  }

  async #finish(cluster: string): Promise<void> {
    const { registry, log } = this.#options;
    const member = registry.member(cluster);
    if (member === undefined) return;
    await registry.setMember({ ...member, leaving: true });
    await this.#options.removeMember(cluster);
    await this.#spend(member.token);
    await registry.removeMember(cluster);
    log.info({ cluster }, 'member left');
  }

  async #spend(id: string): Promise<void> {
    const token = await this.#options.registry.token(id);
    if (token !== undefined) await this.#options.registry.setToken({ ...token, spent: true });
  }

  async #issue(request: VerifiedRequest, cluster: string): Promise<IssuedIdentity> {
    const { registry, now } = this.#options;
    const certificate = await issueMember(registry.authority, request.publicKey, cluster, now());
    return { certificate, ca: registry.authority.certificate };
  }

  /** Two redeemers of one token must not both find it unused. */
  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(work);
    this.#queue = next.catch(() => undefined);
    return next;
  }
}
