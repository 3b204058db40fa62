/**
 * Manages the certificates that the holder of the Lease is responsible for: renews authorities, publishes the credentials of clients, signs the
 * requests of nodes, and keeps the port for nodes open. In: the authorities, requests, Nodes. Called by main.ts if the scheme is ssl.
 */
import { OvsdbError, type TlsFiles } from 'ovsdb-client';
import { isKubeError, orAbsent } from '../../lib/kube/errors.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { configMaps, nodes } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { databaseKeys, databasesConfigMap, remotesIn } from '../../lib/ovn/databases.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { watchCertificateRequests } from '../watch/certificate-requests.ts';
import type { Authorities } from './authorities.ts';
import { ensureChassisListener } from './chassis-listener.ts';
import { publishCredentials } from './client-credentials.ts';
import { Signer } from './signer.ts';

export interface CertificationOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Address of this node. */
  readonly address: string;
  readonly authorities: Authorities;
  /** Credentials of this program for the databases. */
  readonly tls: TlsFiles;
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** Time between two checks of the age of certificates and of the Connection row, which another client may have changed. */
const roundMs = 30_000;
/** Time between two checks while the database or its SB_Global row does not exist yet. */
const waitMs = 500;
/** Time until the next attempt after a failure. */
const retryMs = 5000;
/** Timeout for the southbound database. */
const answerMs = 10_000;
const daemonAccount = 'isthmus-daemon';

/** Runs until the Lease is lost or released. */
export async function certify(options: CertificationOptions, signal: AbortSignal): Promise<void> {
  const { client, log } = options;
  const all = reflect({ client, resource: nodes, signal, log, parse: () => true });
  const requests = watchCertificateRequests({ client, signal, log });
  try {
    await Promise.all([all.synced, requests.synced, options.authorities.ready]);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  const signer = new Signer({
    ...options,
    serviceAccount: daemonAccount,
    requests,
    hasNode: (name) => all.get(name) !== undefined,
    signal,
  });
  let isSigning = false;
  const engine = new RoundEngine({
    run: async () => {
      let pauseMs = retryMs;
      try {
        await options.authorities.renew();
        await publishCredentials(options);
        if (!isSigning) await signer.start();
        isSigning = true;
        pauseMs = (await openPort(options, signal)) ? roundMs : waitMs;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Error)) throw error;
        const isExpected = isKubeError(error) || error instanceof OvsdbError;
        log.warn(
          isExpected ? { error: error.message } : { err: error },
          'certificates could not be brought up to date, trying again',
        );
      }
      engine.wakeAfter(pauseMs);
    },
  });
  await engine.run(signal);
  await signer.close();
}

/** Returns false while there is no database or it is empty. @throws errors of the API server, OvsdbError */
async function openPort(
  { client, namespace, address, tls }: CertificationOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const map = await orAbsent(client.get(configMaps, { namespace, name: databasesConfigMap }));
  const remotes = remotesIn(map?.['data'], databaseKeys.sb);
  if (remotes.length === 0) return false;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  return await ensureChassisListener({ remotes, tls, signal: deadline }, address.includes(':'));
}
