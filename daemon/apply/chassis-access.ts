/**
 * How the ovn-controller of this node reaches the southbound database. The ConfigMap `isthmus-ovn` names the servers and their certificate
 * authorities. This class gives the remotes for `ovn-remote`, and keeps a key and a certificate in files that ovn-controller reads again
 * when they change. The key never leaves the node, and the authority of the databases issues the certificate to this node only. Remotes
 * that need a certificate are given once there is one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Problem } from '../../lib/desired/problem.ts';
import { isKubeError, KubeApiError } from '../../lib/kube/errors.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { apiVersionOf, certificateSigningRequests, configMaps } from '../../lib/kube/resources.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import { chassisSigner, chassisUsages, outcomeOf } from '../../lib/ovn/chassis-request.ts';
import { CredentialFiles } from '../../lib/ovn/credential-files.ts';
import { databaseKeys, databasesConfigMap, remotesIn } from '../../lib/ovn/databases.ts';
import { commonNameOf, createKey, createRequest, isSignedBy, splitPem, validityOf } from '../../lib/pki/certificate.ts';
import { backoffMs } from '../../lib/run/backoff.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Southbound } from '../plan/local-ovs.ts';

export interface ChassisAccessOptions {
  readonly client: KubeClient;
  readonly node: string;
  /** Servers given by a flag: then neither the ConfigMap nor a certificate is used. */
  readonly fixed: readonly string[];
  /** Namespace of the ConfigMap. */
  readonly namespace: string;
  /** Folder where ovn-controller finds `tls.key`, `tls.crt` and `ca.crt`. */
  readonly folder: string;
  /** Remotes that ovn-controller has now; they stay until the ConfigMap names others. */
  readonly present: readonly string[];
  /** Name of the chassis. */
  readonly chassis: () => string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Time between two reads of a request that has no answer yet. */
const lookMs = { baseMs: 100, maxMs: 2000 };
/** Time from a refusal or a failure to the next request. */
const retryMs = 30_000;
/** Time between two checks of the certificate's age. */
const ageMs = 60_000;

export class ChassisAccess {
  readonly #options: ChassisAccessOptions;
  readonly #files: CredentialFiles;
  readonly #listeners = new Set<() => void>();
  #addresses: Reflector<unknown> | undefined;
  #remotes: readonly string[];
  #problem: Problem | undefined;
  #running: Promise<void> = Promise.resolve();
  #wake = Promise.withResolvers<void>();

  private constructor(options: ChassisAccessOptions) {
    this.#options = options;
    this.#files = new CredentialFiles(options.folder);
    this.#remotes = options.fixed.length > 0 ? options.fixed : options.present;
  }

  /** Resolves once the ConfigMap was read; the certificate of a new node comes later. @throws the signal's reason */
  static async open(options: ChassisAccessOptions): Promise<ChassisAccess> {
    const access = new ChassisAccess(options);
    if (options.fixed.length === 0) await access.#follow();
    return access;
  }

  get southbound(): Southbound {
    const isOurs = this.#options.fixed.length === 0 && this.#remotes.some((remote) => remote.startsWith('ssl:'));
    const [ca = '', cert = '', key = ''] = ['ca.crt', 'tls.crt', 'tls.key'].map((name) => this.#files.path(name));
    return { remotes: this.#remotes, tls: isOurs ? { ca, cert, key } : undefined };
  }

  /** Why there is no way to the southbound database. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** Called after a change of the remotes or the problem. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#addresses?.stop(), this.#running]);
  }

  async #follow(): Promise<void> {
    const { client, namespace, signal, log } = this.#options;
    this.#addresses = reflect({
      client,
      namespace,
      signal,
      log,
      resource: configMaps,
      fieldSelector: `metadata.name=${databasesConfigMap}`,
      parse: (raw) => raw['data'],
    });
    await this.#addresses.synced;
    this.#addresses.subscribe(() => this.#wake.resolve());
    // With a certificate from an earlier run, the remotes are known before anything is planned from them.
    const isDone = await this.#update();
    this.#running = this.#run(isDone);
  }

  async #run(isDone: boolean): Promise<void> {
    const { signal, log } = this.#options;
    let isWell = isDone;
    while (!signal.aborted) {
      try {
        if (!isWell) isWell = await this.#renew();
      } catch (error) {
        if (signal.aborted as boolean) return;
        if (!(error instanceof Error)) throw error;
        // The API server and the folder of the node can fail here; both are tried again.
        log.warn({ err: error }, 'no certificate for the southbound database yet');
        this.#set(this.#remotes, {
          code: 'CertificateMissing',
          message: `no certificate for the southbound database: ${error.message}`,
        });
      }
      const delay = pause(isWell ? ageMs : retryMs, undefined, { signal, ref: false }).catch(() => undefined);
      await Promise.race([delay, this.#wake.promise]);
      this.#wake = Promise.withResolvers();
      if (!(signal.aborted as boolean)) isWell = await this.#update();
    }
  }

  /** Follows the ConfigMap; false if a certificate is needed first. */
  async #update(): Promise<boolean> {
    const { namespace } = this.#options;
    const data = this.#data();
    const remotes = remotesIn(data, databaseKeys.chassis);
    const isComplete = this.#bundle() !== '' || !remotes.some((remote) => remote.startsWith('ssl:'));
    if (remotes.length === 0 || !isComplete) {
      const message = `ConfigMap ${namespace}/${databasesConfigMap} does not name the servers of the southbound database yet; look at the pods of isthmus-central`;
      this.#set(this.#remotes, { code: 'DatabasesUnknown', message });
      return true;
    }
    if (!remotes.some((remote) => remote.startsWith('ssl:'))) {
      this.#set(remotes, undefined);
      return true;
    }
    if (!(await this.#isCertified())) return false;
    await this.#trust();
    this.#set(remotes, undefined);
    return true;
  }

  /** Whether there are a key and a certificate for this chassis, by a current authority, in the first two thirds of its validity. */
  async #isCertified(): Promise<boolean> {
    const certificate = await this.#files.read('tls.crt');
    if (certificate === undefined || (await this.#files.read('tls.key')) === undefined) return false;
    try {
      if (commonNameOf(certificate) !== this.#options.chassis()) return false;
      const { notBeforeMs, notAfterMs } = validityOf(certificate);
      if (Date.now() > notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3) return false;
      return splitPem(this.#bundle()).some((authority) => isSignedBy(certificate, { certificate: authority }));
    } catch {
      // A truncated file is not a certificate.
      return false;
    }
  }

  #bundle(): string {
    const value = (this.#data() as Readonly<Record<string, unknown>> | undefined)?.[databaseKeys.chassisAuthorities];
    return typeof value === 'string' ? value : '';
  }

  #data(): unknown {
    return this.#addresses?.get(`${this.#options.namespace}/${databasesConfigMap}`);
  }

  /** The authorities can change without a new certificate. */
  async #trust(): Promise<void> {
    const bundle = this.#bundle();
    const [ca, cert, key] = await Promise.all(['ca.crt', 'tls.crt', 'tls.key'].map((name) => this.#files.read(name)));
    if (ca === bundle || cert === undefined || key === undefined) return;
    await this.#files.write({ 'ca.crt': bundle, 'tls.crt': cert, 'tls.key': key });
  }

  /** Requests a certificate and waits for the answer. @throws errors of the API server and of the folder */
  async #renew(): Promise<boolean> {
    const { client, node, chassis, log } = this.#options;
    const name = chassis();
    const key = await createKey();
    const request = await createRequest(key, name);
    const { metadata } = await client.create(certificateSigningRequests, {
      apiVersion: apiVersionOf(certificateSigningRequests),
      kind: certificateSigningRequests.kind,
      metadata: { generateName: `isthmus-chassis-${node.slice(0, 200)}-` },
      spec: { signerName: chassisSigner, usages: chassisUsages, request: Buffer.from(request).toString('base64') },
    });
    const outcome = await this.#untilAnswered(metadata.name);
    if (outcome === undefined) return false;
    if (outcome.state === 'refused') {
      const message = `the certificate for the southbound database was refused: ${outcome.message}`;
      log.error({ request: metadata.name, chassis: name }, message);
      this.#set(this.#remotes, { code: 'CertificateRefused', message });
      return false;
    }
    await this.#files.write({ 'ca.crt': this.#bundle(), 'tls.crt': outcome.certificate, 'tls.key': key });
    log.info({ chassis: name }, 'certificate for the southbound database received');
    return await this.#update();
  }

  /** Undefined if the request was deleted. */
  async #untilAnswered(name: string) {
    const { client, signal } = this.#options;
    for (let looks = 0; ; looks++) {
      signal.throwIfAborted();
      try {
        const { status } = await client.get(certificateSigningRequests, { name });
        const outcome = outcomeOf(status);
        if (outcome.state !== 'pending') return outcome;
      } catch (error) {
        if (error instanceof KubeApiError && error.status === 404) return undefined;
        if (!isKubeError(error)) throw error;
      }
      if (looks === 50) {
        const message = `the CertificateSigningRequest ${name} has not been answered; look at the pods of isthmus-central`;
        this.#set(this.#remotes, { code: 'CertificateMissing', message });
      }
      await pause(backoffMs(looks, lookMs, Math.random), undefined, { signal });
    }
  }

  #set(remotes: readonly string[], problem: Problem | undefined): void {
    const isSame = remotes.join() === this.#remotes.join() && problem?.message === this.#problem?.message;
    this.#remotes = remotes;
    this.#problem = problem;
    if (!isSame) for (const listener of this.#listeners) listener();
  }
}
