/** This cluster's key and certificate, kept in a Secret so that any agent of the cluster can continue with them. */
import { z } from 'zod';
import type { Problem } from '../../lib/desired/problem.ts';
import { orAbsent } from '../../lib/kube/errors.ts';
import { secrets } from '../../lib/kube/resources.ts';
import { decodeSecret, encodeSecret } from '../../lib/kube/secret-data.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { isCertificate, isKey, isPair } from '../../lib/pki/certificate.ts';
import { HubRefused } from '../link/protocol.ts';

export const identitySecret = 'isthmus-interconnect-identity';

/** The stored membership of this cluster; without a certificate it has not joined yet. */
export interface StoredIdentity {
  readonly key: string;
  readonly certificate?: string;
  readonly ca?: string;
  /** Id of the token that was redeemed. */
  readonly token?: string;
}

export interface IdentityStore {
  /** @throws HubRefused if the stored identity cannot be used, KubeApiError, KubeUnreachable */
  load(): Promise<StoredIdentity | undefined>;
  save(identity: StoredIdentity): Promise<void>;
  remove(): Promise<void>;
}

const secretData = z.object({
  'tls.key': z.string().optional(),
  'tls.crt': z.string().optional(),
  'ca.crt': z.string().optional(),
  token: z.string().optional(),
});

const damaged: Problem = {
  code: 'IdentityDamaged',
  message: `the Secret ${identitySecret} is damaged: tls.key, tls.crt and ca.crt must be PEM, and tls.key the key of tls.crt; restore the Secret, or delete it and join with a token that replaces the membership`,
};

export function secretStore(client: KubeClient, namespace: string): IdentityStore {
  const name = { namespace, name: identitySecret };
  return {
    load: async () => {
      const raw = await orAbsent(client.get(secrets, name));
      const {
        'tls.key': key,
        'tls.crt': certificate,
        'ca.crt': ca,
        token,
      } = secretData.parse(decodeSecret(raw?.['data']));
      if (key === undefined && certificate === undefined) return undefined;
      if (key === undefined || !isUsable({ key, certificate, ca })) throw new HubRefused(damaged);
      return {
        key,
        ...(certificate === undefined ? {} : { certificate }),
        ...(ca === undefined ? {} : { ca }),
        ...(token === undefined ? {} : { token }),
      };
    },
    save: async ({ key, certificate, ca, token }) => {
      const data = encodeSecret({ 'tls.key': key, 'tls.crt': certificate, 'ca.crt': ca, token });
      if ((await orAbsent(client.patch(secrets, name, 'merge', { data }))) !== undefined) return;
      await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: name, type: 'Opaque', data });
    },
    remove: () => client.delete(secrets, name),
  };
}

/** Manual edits and incomplete restores can break each part. */
function isUsable({ key, certificate, ca }: KeyWithCertificates): boolean {
  const isCertified = certificate === undefined || isPair({ key, certificate });
  return isKey(key) && isCertified && (ca === undefined || isCertificate(ca));
}

interface KeyWithCertificates {
  readonly key: string;
  readonly certificate: string | undefined;
  readonly ca: string | undefined;
}

/** A value of a Secret as text; undefined if the Secret or the key is not there. */
export async function readSecret(
  client: KubeClient,
  namespace: string,
  name: string,
  key: string,
): Promise<string | undefined> {
  const raw = await orAbsent(client.get(secrets, { namespace, name }));
  return decodeSecret(raw?.['data'])[key];
}
