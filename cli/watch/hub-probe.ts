/** Connects to the hub as a member would, up to the TLS handshake, and sends nothing. Called by diagnose and bench. */
import { createHash, X509Certificate } from 'node:crypto';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import type { HubProbe } from '../model/hub-probe.ts';

const refusals: Readonly<Record<string, Exclude<HubProbe['outcome'], 'answered'>>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
};

/** Probes `host:port` or `[v6]:port` within `timeoutMs`. Undefined if the text is not such an address. */
export function probeHub(hub: string, timeoutMs: number): Promise<HubProbe | undefined> {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(hub);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port < 1 || port > 65_535) return Promise.resolve(undefined);
  return handshake(host, port, timeoutMs);
}

function handshake(host: string, port: number, timeoutMs: number): Promise<HubProbe> {
  return new Promise((resolve) => {
    const beganMs = performance.now();
    let isOpen = false;
    // All authorities are accepted here; the fingerprint shows whether it is the right one.
    const socket = connect({ host, port, servername: '', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    const settle = (probe: HubProbe): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(probe);
    };
    const timer = setTimeout(() => settle(silence(isOpen, timeoutMs)), timeoutMs);
    socket.once('connect', () => {
      isOpen = true;
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      settle({ outcome: refusals[error.code ?? ''] ?? 'no-tls', detail: error.message });
    });
    socket.once('secureConnect', () => settle(answerOf(socket, performance.now() - beganMs)));
  });
}

function silence(isOpen: boolean, timeoutMs: number): HubProbe {
  if (isOpen) return { outcome: 'no-tls', detail: `the connection opens, but no TLS handshake within ${timeoutMs} ms` };
  return { outcome: 'timeout', detail: `no answer to the connection within ${timeoutMs} ms` };
}

function answerOf(socket: TLSSocket, tookMs: number): HubProbe {
  const authorities: string[] = [];
  type Link = PeerCertificate & { issuerCertificate?: PeerCertificate };
  const seen = new Set<Buffer>();
  const leaf: Link = socket.getPeerCertificate(true);
  for (
    let next: Link | undefined = leaf;
    next?.raw !== undefined && !seen.has(next.raw);
    next = next.issuerCertificate
  ) {
    seen.add(next.raw);
    authorities.push(createHash('sha256').update(next.raw).digest('hex'));
  }
  const { validFromDate, validToDate } = new X509Certificate(leaf.raw);
  return {
    outcome: 'answered',
    authorities,
    notBeforeMs: validFromDate.getTime(),
    notAfterMs: validToDate.getTime(),
    tookMs,
  };
}
