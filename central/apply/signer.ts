/**
 * Signs the certificates of nodes. In: CertificateSigningRequests of the signer `isthmus.network/chassis`, the Nodes, the authority. Out: each
 * request approved with a certificate, or denied with the reason; and the ConfigMap `isthmus-ovn-chassis`, which records the chassis name of each
 * certified node, so that the next leader decides in the same way. Requests are handled one at a time. Runs on the leader.
 */
import { isKubeError, KubeApiError, orAbsent } from '../../lib/kube/errors.ts';
import { certificateSigningRequests, configMaps, objectPath } from '../../lib/kube/resources.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import { issue, verifyRequest } from '../../lib/pki/certificate.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { signerOf } from '../plan/authorities.ts';
import { judge, type Judgement } from '../plan/certificate-requests.ts';
import type { RequestFacts } from '../watch/certificate-requests.ts';
import type { Authorities } from './authorities.ts';

const chassisConfigMap = 'isthmus-ovn-chassis';
/** Validity in days. It limits the use of a stolen certificate; a node renews after two thirds of it. */
export const chassisDays = 30;
const retryMs = 2000;

export interface SignerOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of the daemons' ServiceAccount, in the same namespace. */
  readonly serviceAccount: string;
  readonly authorities: Pick<Authorities, 'of' | 'subscribe'>;
  readonly requests: Reflector<RequestFacts>;
  readonly hasNode: (name: string) => boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly nowMs: () => number;
}

export class Signer {
  readonly #options: SignerOptions;
  /** Node → chassis. */
  #certified = new Map<string, string>();
  /** Names of requests that were answered but that the mirror still shows as pending. */
  readonly #answered = new Set<string>();
  #working: Promise<void> = Promise.resolve();
  #isDue = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  /** Starts with the pending requests. @throws errors of the API server */
  async start(): Promise<void> {
    const { client, namespace, authorities, requests } = this.#options;
    const record = await orAbsent(client.get(configMaps, { namespace, name: chassisConfigMap }));
    this.#certified = new Map(Object.entries((record?.['data'] ?? {}) as Readonly<Record<string, string>>));
    requests.subscribe(({ key, after }) => {
      if (after === undefined || after.isAnswered) this.#answered.delete(key);
      this.#request();
    });
    authorities.subscribe(() => this.#request());
    this.#request();
  }

  /** Resolves when no signing is in progress. */
  async close(): Promise<void> {
    clearTimeout(this.#retry);
    await this.#working;
  }

  #request(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#working = this.#working.then(() => this.#round());
  }

  async #round(): Promise<void> {
    const { requests, signal, log } = this.#options;
    this.#isDue = false;
    for (const facts of [...requests.entries()].map(([, one]) => one)) {
      if (signal.aborted) return;
      if (facts.isAnswered || this.#answered.has(facts.name)) continue;
      try {
        if (await this.#answer(facts)) this.#answered.add(facts.name);
      } catch (error) {
        if (!isKubeError(error)) throw error;
        // The request was deleted, or a newer leader answered it.
        if (error instanceof KubeApiError && [404, 409].includes(error.status)) continue;
        log.warn(
          { request: facts.name, error: error.message },
          'the certificate request of a chassis could not be answered, trying again',
        );
        this.#retry ??= setTimeout(() => {
          this.#retry = undefined;
          this.#request();
        }, retryMs).unref();
      }
    }
  }

  /** Returns false if no authority can sign now. */
  async #answer(facts: RequestFacts): Promise<boolean> {
    const { authorities, namespace, serviceAccount, hasNode, log, nowMs } = this.#options;
    const verified = await verifyRequest(facts.request);
    const judgement = judge(
      { ...facts, chassis: verified?.name },
      { daemon: `system:serviceaccount:${namespace}:${serviceAccount}`, certified: this.#certified, hasNode },
    );
    if (judgement.verdict === 'deny' || verified === undefined) {
      await this.#deny(facts, judgement);
      return true;
    }
    const { node, chassis } = judgement;
    const signer = signerOf(authorities.of('chassis'), nowMs());
    if (signer === undefined) {
      log.error(
        { request: facts.name, node },
        'no valid authority for chassis; look at the Secret isthmus-ovn-authorities',
      );
      return false;
    }
    await this.#record(node, chassis);
    const wanted = {
      publicKey: verified.publicKey,
      name: chassis,
      usages: ['client'],
      dnsNames: [],
      days: chassisDays,
    } as const;
    const certificate = await issue(signer, wanted, nowMs());
    if (!facts.isApproved)
      await this.#write(facts.name, 'approval', { conditions: [condition('Approved', `chassis of node ${node}`)] });
    await this.#write(facts.name, 'status', { certificate: Buffer.from(certificate).toString('base64') });
    log.info({ request: facts.name, node, chassis }, 'chassis certified');
    return true;
  }

  async #deny({ name, isApproved, username, node }: RequestFacts, judgement: Judgement): Promise<void> {
    const message = judgement.verdict === 'deny' ? judgement.message : 'spec.request is not a certificate request';
    if (isApproved) {
      // A request that another client approved can only be marked as failed. The list of conditions keeps that approval.
      const path = objectPath(certificateSigningRequests, { name }, 'status');
      const body = [{ op: 'add', path: '/status/conditions/-', value: condition('Failed', message) }];
      await this.#options.client.request('PATCH', path, body, { contentType: 'application/json-patch+json' });
    } else await this.#write(name, 'approval', { conditions: [condition('Denied', message)] });
    this.#options.log.warn({ request: name, username, node }, `certificate request of a chassis denied: ${message}`);
  }

  /** Records the chassis name of a node. Names of deleted nodes become available again. */
  async #record(node: string, chassis: string): Promise<void> {
    const { client, namespace, hasNode } = this.#options;
    const gone = [...this.#certified.keys()].filter((other) => !hasNode(other));
    if (this.#certified.get(node) === chassis && gone.length === 0) return;
    const data = { [node]: chassis, ...Object.fromEntries(gone.map((other) => [other, null])) };
    const name = { namespace, name: chassisConfigMap };
    try {
      await client.patch(configMaps, name, 'merge', { data });
    } catch (error) {
      if (!(error instanceof KubeApiError && error.status === 404)) throw error;
      const kept = [...this.#certified].filter(([other]) => hasNode(other));
      const all = Object.fromEntries([...kept, [node, chassis]]);
      await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: name, data: all });
    }
    for (const other of gone) this.#certified.delete(other);
    this.#certified.set(node, chassis);
  }

  async #write(name: string, subresource: string, status: object): Promise<void> {
    const path = objectPath(certificateSigningRequests, { name }, subresource);
    await this.#options.client.request('PATCH', path, { status }, { contentType: 'application/merge-patch+json' });
  }
}

function condition(type: string, message: string) {
  return { type, status: 'True', reason: 'IsthmusSigner', message };
}
