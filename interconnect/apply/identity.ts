/** This cluster's key and certificate, kept in a Secret so that any agent of the cluster can continue with them. */
import { z } from 'zod';
import { orAbsent } from '../../lib/kube/errors.ts';
import { secrets } from '../../lib/kube/resources.ts';
import { decodeSecret, encodeSecret } from '../../lib/kube/secret-data.ts';
import type { KubeClient } from '../../lib/kube/types.ts';

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
  load(): Promise<StoredIdentity | undefined>;
  save(identity: StoredIdentity): Promise<void>;
  remove(): Promise<void>;
}

const secretData = z.object({
  'tls.key': z.string(),
  'tls.crt': z.string().optional(),
  'ca.crt': z.string().optional(),
  token: z.string().optional(),
});

export function secretStore(client: KubeClient, namespace: string): IdentityStore {
  const name = { namespace, name: identitySecret };
  return {
    load: async () => {
      const raw = await orAbsent(client.get(secrets, name));
      const { data } = secretData.safeParse(decodeSecret(raw?.['data']));
      if (data === undefined) return undefined;
      const { 'tls.key': key, 'tls.crt': certificate, 'ca.crt': ca, token } = data;
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
