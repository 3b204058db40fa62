/**
 * Publishes the Secret `isthmus-ovn-client`, with which the controller, the interconnect agent and operators authenticate as clients that may write
 * every row, and the certificates of the authorities that nodes trust, in the ConfigMap `isthmus-ovn`. In: the authorities. The leader calls this
 * periodically.
 */
import { KubeApiError, orAbsent } from '../../lib/kube/errors.ts';
import { configMaps, secrets } from '../../lib/kube/resources.ts';
import { decodeSecret, encodeSecret } from '../../lib/kube/secret-data.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { clientSecret, databaseKeys, databasesConfigMap } from '../../lib/ovn/databases.ts';
import { isPair, isSignedBy, issueWithKey } from '../../lib/pki/certificate.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { bundleOf, isDue, signerOf } from '../plan/authorities.ts';
import { orGone, type Authorities } from './authorities.ts';
import { memberDays } from './credentials.ts';

export interface ClientCredentialsOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly authorities: Pick<Authorities, 'of'>;
  readonly log: Logger;
  readonly nowMs: () => number;
}

const clientName = 'isthmus';

/** @throws errors of the API server */
export async function publishCredentials(options: ClientCredentialsOptions): Promise<void> {
  await publishClient(options);
  await publishAuthorities(options);
}

async function publishClient({ client, namespace, authorities, log, nowMs }: ClientCredentialsOptions): Promise<void> {
  const set = authorities.of('members');
  const signer = signerOf(set, nowMs());
  if (signer === undefined) return;
  const name = { namespace, name: clientSecret };
  const present = await orAbsent(client.get(secrets, name));
  const { 'ca.crt': trusted, 'tls.crt': certificate, 'tls.key': key } = decodeSecret(present?.['data']);
  const bundle = bundleOf(set, nowMs());
  const isGood =
    certificate !== undefined &&
    key !== undefined &&
    isPair({ key, certificate }) &&
    isFresh(certificate, signer, nowMs());
  if (isGood && trusted === bundle) return;
  const wanted = { name: clientName, usages: ['client'], dnsNames: [], days: memberDays } as const;
  const own = isGood ? { certificate, key } : await issueWithKey(signer, wanted, nowMs());
  const data = encodeSecret({ 'ca.crt': bundle, 'tls.crt': own.certificate, 'tls.key': own.key });
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: name, type: 'Opaque', data };
  try {
    if (present !== undefined) await client.patch(secrets, name, 'merge', { data });
    else await client.create(secrets, body);
  } catch (error) {
    throw orGone(error, clientSecret);
  }
  log.info({ secret: clientSecret }, 'certificate for clients of OVN’s databases issued');
}

function isFresh(certificate: string, signer: Parameters<typeof isSignedBy>[1], nowMs: number): boolean {
  return !isDue(certificate, nowMs) && isSignedBy(certificate, signer);
}

async function publishAuthorities({ client, namespace, authorities, nowMs }: ClientCredentialsOptions): Promise<void> {
  const bundle = bundleOf(authorities.of('chassis'), nowMs());
  if (bundle === '') return;
  const name = { namespace, name: databasesConfigMap };
  const present = await orAbsent(client.get(configMaps, name));
  const data = { [databaseKeys.chassisAuthorities]: bundle };
  if ((present?.['data'] as typeof data | undefined)?.[databaseKeys.chassisAuthorities] === bundle) return;
  try {
    if (present === undefined)
      await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: name, data });
    else await client.patch(configMaps, name, 'merge', { data });
  } catch (error) {
    // A ConfigMap that another writer created in the meantime lacks these keys: the patch adds them.
    if (!(error instanceof KubeApiError && error.status === 409)) throw error;
    await client.patch(configMaps, name, 'merge', { data });
  }
}
