import { readFile } from 'node:fs/promises';
import * as net from 'node:net';
import * as tls from 'node:tls';
import type { TlsFiles } from '../client-types.ts';

export type Remote =
  | { readonly kind: 'unix'; readonly path: string; readonly text: string }
  | { readonly kind: 'tcp' | 'ssl'; readonly host: string; readonly port: number; readonly text: string };

const networkRemote = /^(tcp|ssl):(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/;

/** IANA's port of OVSDB, which ovsdb-server takes as the default too. */
const defaultPort = 6640;

/** `unix:PATH`, `tcp:HOST[:PORT]`, `ssl:HOST[:PORT]`, IPv6 hosts in brackets. @throws TypeError */
export function parseRemote(text: string): Remote {
  if (text.startsWith('unix:') && text.length > 5) return { kind: 'unix', path: text.slice(5), text };
  const match = networkRemote.exec(text);
  const host = match?.[2] ?? match?.[3];
  const port = Number(match?.[4] ?? defaultPort);
  if (host === undefined || port < 1 || port > 65535) {
    throw new TypeError(
      `remote ${JSON.stringify(text)} is not one of unix:PATH, tcp:HOST:PORT, ssl:HOST:PORT (IPv6 hosts in brackets)`,
    );
  }
  return { kind: match?.[1] === 'ssl' ? 'ssl' : 'tcp', host, port, text };
}

/** An open socket to the remote. @throws whatever node:net, node:tls or reading the key files gave; AbortSignal's reason. */
export async function connectRemote(
  remote: Remote,
  files: TlsFiles | undefined,
  signal: AbortSignal,
): Promise<net.Socket> {
  if (remote.kind === 'unix') return opened(net.connect({ path: remote.path }), 'connect', signal);
  const { host, port } = remote;
  const socket =
    remote.kind === 'tcp'
      ? await opened(net.connect({ host, port }), 'connect', signal)
      : await opened(
          tls.connect({ host, port, ...(await readFiles(remote, files, signal)), checkServerIdentity: anyName }),
          'secureConnect',
          signal,
        );
  return socket.setNoDelay(true);
}

// Certificates of OVS's own PKI contain no host names; like OVS, trust every certificate that the CA signed.
function anyName(): undefined {
  return undefined;
}

/** Read at every connect, so that renewed certificates are taken up. */
async function readFiles(
  remote: Remote,
  files: TlsFiles | undefined,
  signal: AbortSignal,
): Promise<{ ca: Buffer; cert: Buffer; key: Buffer }> {
  if (files === undefined) throw new TypeError(`remote ${remote.text} needs a CA, a certificate and a key`);
  const [ca, cert, key] = await Promise.all([
    readFile(files.ca, { signal }),
    readFile(files.cert, { signal }),
    readFile(files.key, { signal }),
  ]);
  return { ca, cert, key };
}

function opened(socket: net.Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      signal.removeEventListener('abort', onAbort);
      socket.off('error', fail).off(event, succeed);
    };
    const succeed = (): void => {
      settle();
      resolve(socket);
    };
    const fail = (error: unknown): void => {
      settle();
      // A destroyed socket may still report an error, which must find a listener.
      socket.on('error', ignore).destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', fail).on(event, succeed);
    if (signal.aborted) onAbort();
  });
}

function ignore(): void {}
