/** Renews the certificate of this cluster when it is due. In: the stored identity. Out: the identity with a new certificate. */
import { commonNameOf, createRequest, validityOf } from '../../lib/pki/certificate.ts';
import { openHubLink } from '../link/client.ts';
import { isRenewalDue } from '../settle/link-state.ts';
import type { IdentityStore } from './identity.ts';

export interface Renewed {
  readonly cluster: string;
  readonly notAfterMs: number;
}

/**
 * The next session uses the new certificate; the present one, which may still have a former name, goes on. Undefined: nothing
 * was due. @throws HubRefused, HubUnreachable, what the store throws
 */
export async function renewCertificate(hub: string, store: IdentityStore, nowMs: number): Promise<Renewed | undefined> {
  const stored = await store.load();
  if (stored?.certificate === undefined || stored.ca === undefined) return undefined;
  const { key, certificate, ca } = stored;
  if (!isRenewalDue(validityOf(certificate), nowMs)) return undefined;
  const cluster = commonNameOf(certificate) ?? '';
  const link = openHubLink(hub, { key, certificate, ca });
  try {
    const issued = await link.renew(await createRequest(key, cluster));
    await store.save({ ...stored, ...issued });
    return { cluster, notAfterMs: validityOf(issued.certificate).notAfterMs };
  } finally {
    link.close();
  }
}
