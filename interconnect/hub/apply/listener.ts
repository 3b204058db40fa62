/** The hub's endpoint with a certificate that is renewed in time. In: the authority, the calls. Out: a listening port. */
import { validityOf, type KeyAndCertificate } from '../../../lib/pki/certificate.ts';
import { issueHub } from '../../link/certificate.ts';
import { serveHub, type HubCalls } from '../../link/server.ts';

const checkMs = 60 * 60 * 1000;

export interface ListenerOptions {
  readonly listen: string;
  readonly authority: KeyAndCertificate;
  readonly calls: HubCalls;
  readonly now: () => number;
  readonly log: { info(fields: object, message: string): void };
}

export interface Listener {
  readonly port: number;
  /** Unix milliseconds. */
  readonly notAfterMs: number;
  close(): void;
}

export async function openListener({ listen, authority, calls, now, log }: ListenerOptions): Promise<Listener> {
  let endpoint = await issueHub(authority, now());
  const server = await serveHub({ listen, authority: authority.certificate, endpoint, calls, log });
  const renew = async (): Promise<void> => {
    const { notBeforeMs, notAfterMs } = validityOf(endpoint.certificate);
    if (now() < notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3) return;
    endpoint = await issueHub(authority, now());
    server.renewEndpoint(endpoint);
    log.info({}, 'renewed the certificate of the endpoint');
  };
  const timer = setInterval(() => void renew(), checkMs);
  return {
    port: server.port,
    get notAfterMs() {
      return validityOf(endpoint.certificate).notAfterMs;
    },
    close: () => {
      clearInterval(timer);
      server.close();
    },
  };
}
