/**
 * What the servers of this node prove themselves by. In: the authorities. Out: files that ovsdb-server and ovn-northd read again when
 * they change: `ca.crt`, `tls.crt` and `tls.key` of the member, `chassis-ca.crt`, `chassis.crt` and `chassis.key` of the server that nodes connect to.
 */
import { CredentialFiles } from '../../lib/ovn/credential-files.ts';
import { commonNameOf, isSignedBy, issueWithKey } from '../../lib/pki/certificate.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { bundleOf, isDue, signerOf } from '../plan/authorities.ts';
import type { Authorities, Purpose } from './authorities.ts';

/** Of certificates of servers and of those that write every row, days. */
export const memberDays = 90;

export interface CredentialsOptions {
  readonly authorities: Pick<Authorities, 'of' | 'subscribe'>;
  /** Where the servers find the files. */
  readonly folder: string;
  /** In the certificates. */
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
  #writing: Promise<void> = Promise.resolve();

  constructor(options: CredentialsOptions) {
    this.#options = options;
    this.#files = new CredentialFiles(options.folder);
    options.authorities.subscribe(() => void this.refresh());
  }

  /** Brings the files up to date; to be called now and then, as certificates run out. @throws system errors */
  async refresh(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#refresh());
    await this.#writing;
  }

  async #refresh(): Promise<void> {
    const { authorities, node, log, nowMs } = this.#options;
    const wanted: Record<string, string> = {};
    let isChanged = false;
    for (const { purpose, prefix, ca, usages } of parts) {
      const set = authorities.of(purpose);
      const signer = signerOf(set, nowMs());
      if (signer === undefined) {
        log.error(
          { purpose },
          'no valid authority of OVN’s databases; the servers go on with the certificates they have',
        );
        return;
      }
      const bundle = bundleOf(set, nowMs());
      const names = [ca, `${prefix}.crt`, `${prefix}.key`];
      const [trusted, certificate, key] = await Promise.all(names.map((name) => this.#files.read(name)));
      const isGood =
        certificate !== undefined &&
        key !== undefined &&
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
