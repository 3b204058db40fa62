/**
 * An API server with scripted failures for tests: it keeps objects of one kind in memory, serves LIST with pages, WATCH and
 * WatchList over TLS, and calls a script before each answer that may break it. Callers: tests only.
 */
import 'reflect-metadata';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { RawObject } from './types.ts';

/** A failure in place of an answer: called with the request, it returns true if it handled the request. */
export type Fault = (
  request: { readonly url: URL; readonly kind: 'list' | 'watch' | 'watch-list' },
  response: ServerResponse,
) => boolean;

export interface FaultServer {
  readonly kubeconfig: string;
  /** Every request so far: `list`, `watch`, `watch-list`. */
  readonly requests: readonly { readonly kind: string; readonly url: URL; readonly atMs: number }[];
  /** Connections opened so far. */
  readonly connections: number;
  /** Newest first in line; a fault that returns true is used up. */
  breakNext(fault: Fault): void;
  put(name: string, spec?: unknown): void;
  remove(name: string): void;
  /** Expires all versions so far: watches from before get 410. */
  compact(): void;
  /** Sends a raw text to every open watch. */
  sendRaw(text: string): void;
  sendBookmark(): void;
  endWatches(how: 'clean' | 'reset'): void;
  close(): Promise<void>;
}

/** Answers with a Status object. */
export function refuse(
  response: ServerResponse,
  status: number,
  reason: string,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ kind: 'Status', code: status, reason, message: `refused by the test with ${status}` }));
  return true;
}

interface Change {
  readonly version: number;
  readonly line: string;
}

export async function startFaultServer(options: { watchList?: boolean } = {}): Promise<FaultServer> {
  const { cert, key } = await selfSigned();
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-fault-'));
  const objects = new Map<string, RawObject>();
  const history: Change[] = [];
  const watches = new Set<ServerResponse>();
  const faults: Fault[] = [];
  const requests: { kind: string; url: URL; atMs: number }[] = [];
  let version = 100;
  let oldest = 0;
  let connections = 0;

  const tell = (type: string, object: RawObject) => {
    const line = `${JSON.stringify({ type, object })}\n`;
    history.push({ version, line });
    for (const watch of watches) watch.write(line);
  };
  const bookmark = (annotations?: Record<string, string>) =>
    `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version), annotations } } })}\n`;

  const list = (url: URL, response: ServerResponse) => {
    const limit = Number(url.searchParams.get('limit') ?? 0) || objects.size;
    const from = Number(url.searchParams.get('continue') ?? 0);
    const all = [...objects.values()];
    const next = from + limit < all.length ? String(from + limit) : '';
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        metadata: { resourceVersion: String(version), continue: next },
        items: all.slice(from, from + limit),
      }),
    );
  };
  const watch = (url: URL, response: ServerResponse) => {
    const from = Number(url.searchParams.get('resourceVersion') ?? 0);
    response.writeHead(200, { 'content-type': 'application/json' });
    if (url.searchParams.get('sendInitialEvents') === 'true') {
      for (const object of objects.values()) response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
      response.write(bookmark({ 'k8s.io/initial-events-end': 'true' }));
    } else if (from < oldest) {
      response.end(
        `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } })}\n`,
      );
      return;
    }
    response.flushHeaders();
    for (const change of history) if (from > 0 && change.version > from) response.write(change.line);
    watches.add(response);
    response.on('close', () => watches.delete(response));
  };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'https://127.0.0.1');
    const isWatch = url.searchParams.get('watch') === '1';
    const kind = isWatch ? (url.searchParams.has('sendInitialEvents') ? 'watch-list' : 'watch') : 'list';
    requests.push({ kind, url, atMs: performance.now() });
    const index = faults.findIndex((fault) => fault({ url, kind }, response));
    if (index >= 0) faults.splice(index, 1);
    else if (kind === 'watch-list' && options.watchList === false) refuse(response, 400, 'BadRequest');
    else if (isWatch) watch(url, response);
    else list(url, response);
  };

  const server = createServer({ cert, key }, answer);
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, renderKubeconfig((server.address() as AddressInfo).port, cert));

  return {
    kubeconfig,
    requests,
    get connections() {
      return connections;
    },
    breakNext: (fault) => void faults.push(fault),
    put: (name, spec = {}) => {
      const known = objects.get(name);
      const uid = known?.metadata.uid ?? `uid-${name}-${version}`;
      const object = { metadata: { name, uid, resourceVersion: String(++version) }, spec };
      objects.set(name, object);
      tell(known ? 'MODIFIED' : 'ADDED', object);
    },
    remove: (name) => {
      const known = objects.get(name);
      if (!known) throw new Error(`the test has no object "${name}"`);
      objects.delete(name);
      tell('DELETED', { ...known, metadata: { ...known.metadata, resourceVersion: String(++version) } });
    },
    compact: () => {
      oldest = ++version;
    },
    sendRaw: (text) => {
      for (const response of watches) response.write(text);
    },
    sendBookmark: () => {
      for (const response of watches) response.write(bookmark());
    },
    endWatches: (how) => {
      for (const response of watches) {
        watches.delete(response);
        if (how === 'clean') response.end();
        else response.socket?.destroy();
      }
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(dir, { recursive: true });
    },
  };
}

function renderKubeconfig(port: number, ca: string): string {
  return JSON.stringify({
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${port}`,
          'certificate-authority-data': Buffer.from(ca).toString('base64'),
        },
      },
    ],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

async function selfSigned(): Promise<{ cert: string; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=isthmus test',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  });
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: certificate.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
}
