/**
 * The hub's store in Kubernetes: HubMember objects, and Secrets for the authority and the redeemed tokens. In: what the
 * registry keeps. Out: writes, and changes of the objects by any writer. Writes of statuses wait for an absent API
 * server; all others fail.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { KubeApiError, isKubeError, orAbsent } from '../../../lib/kube/errors.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import type { HubMemberStatus } from '../../../lib/api/kinds/hub-member.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { apiVersionOf, hubMembers, secrets } from '../../../lib/kube/resources.ts';
import type { KubeClient, Reflector } from '../../../lib/kube/types.ts';
import { ObjectWriter } from '../../../lib/kube/writer.ts';
import type { Logger } from '../../../lib/run/logger.ts';
import type { KeyAndCertificate } from '../../../lib/pki/certificate.ts';
import { refuseMember, renderMember } from './member.ts';
import {
  StoreUnavailable,
  type HubStore,
  type MemberSpec,
  type Membership,
  type RedeemedToken,
  type StoreListener,
  type StoredMember,
  type StoredReport,
} from '../model/store.ts';
import { parseHubMember, type HubMember } from '../watch/members.ts';
import { ensureAuthority } from '../apply/authority.ts';
import { decodeSecret, encodeSecret } from '../../../lib/kube/secret-data.ts';

const tokensSecret = 'isthmus-hub-tokens';
/** Between two looks for an API server that is away at the start. */
const retryMs = 2000;
/** A join has to be answered within its deadline of ten seconds. */
const requestMs = 5000;

export interface KubeStoreOptions {
  readonly client: KubeClient;
  /** Of the Secrets. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly now: () => number;
}

const tokenData = z.object({
  cluster: z.string(),
  handle: z.string().optional(),
  fingerprint: z.string(),
  expiresMs: z.int(),
  spent: z.boolean(),
});

/** Waits until everything is read: a hub that does not know its members must not act. @throws the signal's reason */
export async function openKubeStore(options: KubeStoreOptions): Promise<HubStore & { close(): Promise<void> }> {
  const { client, namespace, signal, log, now } = options;
  const members = reflect({ client, resource: hubMembers, parse: parseHubMember, signal, log });
  let authority: KeyAndCertificate | undefined;
  while (authority === undefined) {
    signal.throwIfAborted();
    try {
      authority = await ensureAuthority(client, namespace, now());
    } catch (error) {
      if (!isKubeError(error)) throw error;
      log.warn({ error: error.message }, 'the authority of the hub cannot be read yet');
      await sleep(retryMs, undefined, { signal });
    }
  }
  await members.synced;
  return new KubeStore(options, authority, members);
}

class KubeStore implements HubStore {
  readonly authority: KeyAndCertificate;
  readonly #options: KubeStoreOptions;
  readonly #members: Reflector<HubMember>;
  readonly #writer: ObjectWriter;
  /** The newest of each. */
  readonly #reports = new Map<string, StoredReport | Problem>();
  readonly #unsubscribe: () => void;

  constructor(options: KubeStoreOptions, authority: KeyAndCertificate, members: Reflector<HubMember>) {
    this.#options = options;
    this.authority = authority;
    this.#members = members;
    const { signal, log } = options;
    const onRefused = (cluster: string, error: KubeApiError): void => {
      if (error.status !== 404) log.warn({ cluster, error: error.message }, 'the status of a HubMember was refused');
    };
    this.#writer = new ObjectWriter({ signal, log, onRefused });
    // A report was compared with the version that the watch brought last, which may be older than our own last write.
    this.#unsubscribe = members.subscribe(({ key, after }) => {
      const report = after === undefined ? undefined : this.#reports.get(key);
      if (report !== undefined) this.#say(key, report);
    });
  }

  *members(): Generator<StoredMember> {
    for (const [, member] of this.#members.entries()) yield member;
  }

  create(handle: string, spec: MemberSpec): Promise<StoredMember> {
    return this.#request(async (client, signal) => {
      const metadata = { name: handle };
      const { kind } = hubMembers;
      try {
        const object = { apiVersion: apiVersionOf(hubMembers), kind, metadata, spec };
        return parseHubMember(await client.create(hubMembers, object, { signal }));
      } catch (error) {
        if (!(error instanceof KubeApiError && error.status === 409)) throw error;
        return parseHubMember(await client.get(hubMembers, metadata, { signal }));
      }
    });
  }

  setMembership(handle: string, membership: Membership): Promise<void> {
    const { cluster, formerName = null, fingerprint, token, joinedMs, leaving } = membership;
    const clusterName = cluster === handle ? null : cluster;
    const joined = new Date(joinedMs).toISOString();
    const status = { clusterName, formerName, fingerprint, token, joined, leaving };
    return this.#request(async (client, signal) => {
      await client.patch(hubMembers, { name: handle }, 'merge', { status }, { subresource: 'status', signal });
    });
  }

  remove(handle: string): Promise<void> {
    this.#writer.cancel(handle);
    this.#reports.delete(handle);
    return this.#request((client, signal) => client.delete(hubMembers, { name: handle }, { signal }));
  }

  tokens(): Promise<ReadonlyMap<string, RedeemedToken>> {
    return this.#request(async (client, signal) => {
      const data = await this.#readTokens(client, signal);
      return new Map(Object.entries(data ?? {}).flatMap(([id, text]) => parseToken(id, text)));
    });
  }

  /** Tokens that are spent and could not be redeemed any more either are forgotten. */
  setTokens(tokens: readonly RedeemedToken[]): Promise<void> {
    return this.#request(async (client, signal) => {
      const name = { namespace: this.#options.namespace, name: tokensSecret };
      const present = await this.#readTokens(client, signal);
      const known = Object.entries(present ?? {}).flatMap(([id, text]) => parseToken(id, text));
      const over = known.filter(([, { spent, expiresMs }]) => spent && expiresMs < this.#options.now());
      const written = encodeSecret(Object.fromEntries(tokens.map(({ id, ...rest }) => [id, JSON.stringify(rest)])));
      const data = { ...Object.fromEntries(over.map(([id]) => [id, null])), ...written };
      if (present !== undefined) await client.patch(secrets, name, 'merge', { data }, { signal });
      else
        await client.create(
          secrets,
          { apiVersion: 'v1', kind: 'Secret', metadata: name, type: 'Opaque', data: written },
          { signal },
        );
    });
  }

  report(handle: string, report: StoredReport): void {
    this.#say(handle, report);
  }

  refuse(handle: string, problem: Problem): void {
    this.#say(handle, problem);
  }

  subscribe(listener: StoreListener): () => void {
    return this.#members.subscribe(({ key, before, after }) => listener(key, (after ?? before)?.uid ?? '', after));
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#writer.close();
    await this.#members.stop();
  }

  #say(handle: string, report: StoredReport | Problem): void {
    this.#reports.set(handle, report);
    void this.#writer.enqueue(handle, () => this.#write(handle));
  }

  async #write(handle: string): Promise<void> {
    const { client, now } = this.#options;
    const member = this.#members.get(handle);
    const report = this.#reports.get(handle);
    if (member === undefined || report === undefined) return;
    const { status: before, spec } = member;
    const after =
      'code' in report ? refuseMember(before, report, now()) : renderMember(before, { spec, ...report, nowMs: now() });
    if (JSON.stringify(writtenOf(after)) !== JSON.stringify(writtenOf(before))) {
      const { conditions, lastSeen, ports, prefixes, exports, rejections, report: told } = after;
      const figures = { prefixes, exports, rejections, report: told ?? null };
      const status = { conditions, lastSeen: lastSeen ?? null, ports, ...figures };
      await client.patch(hubMembers, { name: handle }, 'merge', { status }, { subresource: 'status' });
    }
  }

  async #readTokens(client: KubeClient, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined> {
    const name = { namespace: this.#options.namespace, name: tokensSecret };
    const raw = await orAbsent(client.get(secrets, name, { signal }));
    return raw === undefined ? undefined : decodeSecret(raw['data']);
  }

  async #request<T>(work: (client: KubeClient, signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = AbortSignal.timeout(requestMs);
    try {
      return await work(this.#options.client, AbortSignal.any([deadline, this.#options.signal]));
    } catch (error) {
      if (!isKubeError(error) && error !== deadline.reason) throw error;
      throw new StoreUnavailable(`its API server did not complete the request (${(error as Error).message})`, {
        cause: error,
      });
    }
  }
}

/** The fields of a status that a report decides, in one order. */
function writtenOf({ conditions, lastSeen, ports, prefixes, exports, rejections, report }: HubMemberStatus) {
  return [conditions, lastSeen, ports ?? [], prefixes, exports, rejections, report];
}

function parseToken(id: string, text: string): readonly (readonly [string, RedeemedToken])[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return [];
  }
  const parsed = tokenData.safeParse(json);
  if (!parsed.success) return [];
  const { handle, ...rest } = parsed.data;
  return [[id, { id, ...rest, ...(handle === undefined ? {} : { handle }) }]];
}
