/**
 * Writes the certificates of the servers of this node. In: the authorities. Out: files that ovsdb-server and ovn-northd read again when they change:
 * `ca.crt`, `tls.crt` and `tls.key` of the member; `chassis-ca.crt`, `chassis.crt` and `chassis.key` of the server that nodes connect to.
 */
import { join } from 'node:path';
import type { TlsFiles } from 'ovsdb-client';
import { CredentialFiles } from '../../lib/ovn/credential-files.ts';
import { commonNameOf, isPair, isSignedBy, issueWithKey } from '../../lib/pki/certificate.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { bundleOf, isDue, signerOf } from '../plan/authorities.ts';
import type { Authorities, Purpose } from './authorities.ts';

/** Time between two checks of the certificates' age. */
const ageMs = 60 * 60 * 1000;
/** Validity in days of the certificates of servers, and of clients that write every row. */
export const memberDays = 90;

export interface CredentialsOptions {
  readonly authorities: Pick<Authorities, 'of' | 'subscribe' | 'ready'>;
  /** Folder from which the servers read the files. */
  readonly folder: string;
  /** Name of the node in the certificates. */
  readonly node: string;
  readonly log: Logger;
  readonly nowMs: () => number;
}

const parts = [
  { purpose: 'members', prefix: 'tls', ca: 'ca.crt', usages: ['server', 'client'] },
  { purpose: 'chassis', prefix: 'chassis', ca: 'chassis-ca.crt', usages: ['server'] },
] as const satisfies readonly { readonly purpose: Purpose; readonly [field: string]: unknown }[];

export class Credentials {
  readonly #options: CredentialsOptions;
  readonly #files: CredentialFiles;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: CredentialsOptions) {
    this.#options = options;
    this.#files = new CredentialFiles(options.folder);
    const refresh = (): void => void this.refresh();
    options.authorities.ready.then(refresh, () => undefined);
    options.authorities.subscribe(refresh);
    this.#timer = setInterval(refresh, ageMs).unref();
  }

  /** Credentials with which the programs of this node connect to the databases. */
  get tls(): TlsFiles {
    const { folder } = this.#options;
    return { ca: join(folder, 'ca.crt'), cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  }

  /** Brings the files up to date. @throws system errors */
  async refresh(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#refresh());
    await this.#writing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
  }

  async #refresh(): Promise<void> {
    const { authorities, node, log, nowMs } = this.#options;
    const wanted: Record<string, string> = {};
    let isChanged = false;
    for (const { purpose, prefix, ca, usages } of parts) {
      const set = authorities.of(purpose);
      // No authorities exist, or they were removed: the code that creates them logs it.
      if (set.length === 0) return;
      const signer = signerOf(set, nowMs());
      if (signer === undefined) {
        log.error({ purpose }, 'no valid authority of OVN’s databases; the servers keep their present certificates');
        return;
      }
      const bundle = bundleOf(set, nowMs());
      const names = [ca, `${prefix}.crt`, `${prefix}.key`];
      const [trusted, certificate, key] = await Promise.all(names.map((name) => this.#files.read(name)));
      const isGood =
        certificate !== undefined &&
        key !== undefined &&
        isPair({ key, certificate }) &&
        commonNameOf(certificate) === node &&
        !isDue(certificate, nowMs()) &&
        isSignedBy(certificate, signer);
      const own = isGood
        ? { certificate, key }
        : await issueWithKey(signer, { name: node, usages, dnsNames: [], days: memberDays }, nowMs());
      isChanged ||= !isGood || trusted !== bundle;
      Object.assign(wanted, { [ca]: bundle, [`${prefix}.crt`]: own.certificate, [`${prefix}.key`]: own.key });
    }
    if (!isChanged) return;
    await this.#files.write(wanted);
    log.info({ folder: this.#options.folder }, 'certificates of OVN’s databases written');
  }
}
