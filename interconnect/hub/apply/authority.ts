/** The hub's authority, which signs join tokens and every certificate: a Secret, created where it is missing. */
import { KubeApiError, orAbsent } from '../../../lib/kube/errors.ts';
import { secrets } from '../../../lib/kube/resources.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import type { KeyAndCertificate } from '../../../lib/pki/certificate.ts';
import { createHubAuthority } from '../../link/certificate.ts';
import { HubStateError } from '../model/errors.ts';
import { decodeSecret, encodeSecret } from '../../../lib/kube/secret-data.ts';

export const authoritySecret = 'isthmus-hub-authority';

/** Undefined: there is none. @throws HubStateError when it is damaged, the client's errors */
async function readAuthority(client: KubeClient, namespace: string): Promise<KeyAndCertificate | undefined> {
  const raw = await orAbsent(client.get(secrets, { namespace, name: authoritySecret }));
  if (raw === undefined) return undefined;
  const { 'tls.key': key, 'tls.crt': certificate } = decodeSecret(raw['data']);
  if (key !== undefined && certificate !== undefined) return { key, certificate };
  throw new HubStateError(
    `Secret ${namespace}/${authoritySecret} lacks tls.key or tls.crt; restore it from a backup, or delete it: then every cluster has to join again`,
  );
}

/** The one that is there, else a new one; of two hubs that start at once the first one's counts. @throws as above */
export async function ensureAuthority(
  client: KubeClient,
  namespace: string,
  nowMs: number,
): Promise<KeyAndCertificate> {
  const present = await readAuthority(client, namespace);
  if (present !== undefined) return present;
  const authority = await createHubAuthority(nowMs);
  const data = encodeSecret({ 'tls.key': authority.key, 'tls.crt': authority.certificate });
  const metadata = { namespace, name: authoritySecret };
  try {
    await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data });
    return authority;
  } catch (error) {
    if (!(error instanceof KubeApiError && error.status === 409)) throw error;
    const other = await readAuthority(client, namespace);
    if (other === undefined) throw error;
    return other;
  }
}
