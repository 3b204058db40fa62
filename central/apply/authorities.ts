/**
 * The certificate authorities of OVN's databases, kept in a Secret. There are two, because ovsdb-server grants all rights to every certificate of an
 * authority that it trusts: `members` signs for the servers, for raft and for clients that may write every row; `chassis` signs for nodes, which may
 * write only their own rows. In: the Secret, and the Secrets of the administrator's own authorities. Out: both sets, and a notification when they
 * change. Every instance of central reads the Secret; the leader renews it.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeApiError, orAbsent } from '../../lib/kube/errors.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { secrets } from '../../lib/kube/resources.ts';
import { decodeSecret, encodeSecret } from '../../lib/kube/secret-data.ts';
import type { KubeClient, RawObject, Reflector } from '../../lib/kube/types.ts';
import { createAuthority, isPair, splitPem } from '../../lib/pki/certificate.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { isAuthorityDue, joinPem, withGiven, type AuthoritySet } from '../plan/authorities.ts';

export const authoritySecret = 'isthmus-ovn-authorities';
const purposes = ['members', 'chassis'] as const;
export type Purpose = (typeof purposes)[number];
type Sets = Readonly<Record<Purpose, AuthoritySet>>;

export interface AuthoritiesOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Secrets with the administrator's own authorities, by purpose: `tls.crt` and `tls.key`. Isthmus creates the other authorities. */
  readonly given: Readonly<Partial<Record<Purpose, string>>>;
}

/** Time between two attempts to create the Secret. */
const retryMs = 1000;

export class Authorities {
  readonly #options: AuthoritiesOptions;
  readonly #secret: Reflector<Sets | undefined>;
  /** Resolves once the authorities exist, however long that takes. @throws the signal's reason */
  readonly ready: Promise<void>;

  constructor(options: AuthoritiesOptions) {
    this.#options = options;
    const { client, namespace, signal, log } = options;
    const parse = (raw: { readonly [field: string]: unknown }): Sets | undefined =>
      parseSets(decodeSecret(raw['data']));
    const selection = { namespace, fieldSelector: `metadata.name=${authoritySecret}` };
    this.#secret = reflect({ client, resource: secrets, ...selection, parse, signal, log });
    this.ready = this.#begin();
    // A rejection is for the callers that await `ready`; there may be none.
    this.ready.catch(() => undefined);
  }

  /** Newest first; empty if the Secret is gone or damaged. */
  of(purpose: Purpose): AuthoritySet {
    return this.#secret.get(`${this.#options.namespace}/${authoritySecret}`)?.[purpose] ?? [];
  }

  subscribe(listener: () => void): void {
    this.#secret.subscribe(listener);
  }

  /**
   * Creates a new authority for a purpose when it is due, and all authorities if the Secret is gone. The leader calls this periodically.
   * @throws errors of the API server; an Error if the Secret is damaged
   */
  async renew(): Promise<void> {
    const { client, namespace, log } = this.#options;
    const raw = await orAbsent(client.get(secrets, { namespace, name: authoritySecret }));
    if (raw === undefined || isEmpty(raw)) {
      log.warn(
        { secret: `${namespace}/${authoritySecret}` },
        'the authorities of OVN’s databases are gone; all certificates are issued again',
      );
      await ensure(this.#options);
      return;
    }
    const sets = parseSets(decodeSecret(raw['data']));
    if (sets === undefined)
      throw new Error(
        `Secret ${namespace}/${authoritySecret} is damaged: each certificate of ${purposes.join(', ')} needs its key, in the same order; restore it from a backup, or delete it, then all certificates are issued again`,
      );
    const next = await Promise.all(purposes.map((purpose) => renewed(this.#options, purpose, sets[purpose])));
    const due = purposes.filter((purpose, index) => next[index] !== sets[purpose]);
    if (due.length === 0) return;
    const data = encode(Object.fromEntries(due.map((purpose) => [purpose, next[purposes.indexOf(purpose)] ?? []])));
    const { resourceVersion } = raw.metadata;
    await client.patch(secrets, { namespace, name: authoritySecret }, 'merge', { metadata: { resourceVersion }, data });
    log.info({ purposes: due }, 'new authority of OVN’s databases; it signs once all programs trust it');
  }

  async close(): Promise<void> {
    await this.#secret.stop();
  }

  async #begin(): Promise<void> {
    const { signal, log } = this.#options;
    for (let isMade = false; !isMade;) {
      try {
        await ensure(this.#options);
        isMade = true;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Error)) throw error;
        log.warn(
          { secret: authoritySecret, error: error.message },
          'no authorities of OVN’s databases yet, trying again',
        );
        await sleep(retryMs, undefined, { signal });
      }
    }
    await this.#secret.synced;
    // The reflector may have listed the Secret as the chart created it, without authorities.
    if (this.of('members').length > 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#secret.subscribe(() => this.of('members').length > 0 && resolve());
    await Promise.race([promise, once(signal, 'abort')]);
    stop();
    signal.throwIfAborted();
  }
}

/** Creates both authorities if there are none. If several programs start at once, the first write wins. @throws errors of the API server */
async function ensure(options: AuthoritiesOptions): Promise<void> {
  const { client, namespace } = options;
  const name = { namespace, name: authoritySecret };
  const present = await orAbsent(client.get(secrets, name));
  if (!isEmpty(present)) return;
  const entries = purposes.map(async (purpose) => [purpose, await renewed(options, purpose, [])] as const);
  const data = encode(Object.fromEntries(await Promise.all(entries)));
  try {
    if (present === undefined)
      await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: name, type: 'Opaque', data });
    else {
      const { resourceVersion } = present.metadata;
      await client.patch(secrets, name, 'merge', { metadata: { resourceVersion }, data });
    }
  } catch (error) {
    if (!(error instanceof KubeApiError && error.status === 409)) throw orGone(error, authoritySecret);
  }
}

/** Replaces the API server's refusal for a deleted Secret with a message that says how to restore it. */
export function orGone(error: unknown, secret: string): unknown {
  if (!(error instanceof KubeApiError && error.status === 403)) return error;
  return new Error(`the Secret ${secret} is missing, and only the chart may create it: run helm upgrade`, {
    cause: error,
  });
}

/** The Secret is as the chart creates it. */
function isEmpty(secret: RawObject | undefined): boolean {
  return Object.keys(secret?.['data'] ?? {}).length === 0;
}

/** Returns the same set if nothing is due. @throws errors of the API server; an Error if the administrator's authority cannot be used */
async function renewed(
  { client, namespace, nowMs, given }: AuthoritiesOptions,
  purpose: Purpose,
  set: AuthoritySet,
): Promise<AuthoritySet> {
  const name = given[purpose];
  if (name === undefined)
    return isAuthorityDue(set, nowMs()) ? [await createAuthority(`isthmus ovn ${purpose}`, nowMs()), ...set] : set;
  const present = await orAbsent(client.get(secrets, { namespace, name }));
  const { 'tls.crt': certificate = '', 'tls.key': key = '' } = decodeSecret(present?.['data']);
  const [newest = ''] = splitPem(certificate);
  const next = present === undefined ? 'it does not exist' : withGiven(set, { key, certificate: newest }, nowMs());
  if (typeof next === 'string')
    throw new Error(
      `the Secret ${namespace}/${name} of ovn.tls.authoritySecrets.${purpose} cannot be used: ${next}; it needs tls.crt and tls.key of a self-signed CA with a key of ECDSA P-256, which a renewal keeps`,
    );
  return next;
}

function encode(sets: Readonly<Record<string, AuthoritySet>>): Record<string, string> {
  return encodeSecret(
    Object.fromEntries(
      Object.entries(sets).flatMap(([purpose, set]) => [
        [`${purpose}.crt`, joinPem(set.map(({ certificate }) => certificate))],
        [`${purpose}.key`, joinPem(set.map(({ key }) => key))],
      ]),
    ),
  );
}

function parseSets(data: Readonly<Record<string, string>>): Sets | undefined {
  const [members, chassis] = purposes.map((purpose) => {
    const certificates = splitPem(data[`${purpose}.crt`] ?? '');
    const keys = splitPem(data[`${purpose}.key`] ?? '');
    if (certificates.length === 0 || certificates.length !== keys.length) return undefined;
    const set = certificates.map((certificate, index) => ({ certificate, key: keys[index] ?? '' }));
    return set.every(isPair) ? set : undefined;
  });
  return members === undefined || chassis === undefined ? undefined : { members, chassis };
}
