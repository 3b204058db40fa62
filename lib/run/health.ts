/** What a room tells its supervisor and Prometheus: /healthz, /readyz and /metrics on one small HTTP server. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * Between two looks at the event loop, in milliseconds; what is told of its lag begins there. Each look wakes the process: fifty
 * a second are a quarter of a percent of a core for one that does nothing else.
 */
const lagSampleMs = 100;

/** A fresh registry with the process' own figures: CPU, memory, garbage collection, event-loop lag. @param labels of every series */
export function createRegistry(room: string, labels: Readonly<Record<string, string>> = {}): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ room, ...labels });
  collectDefaultMetrics({ register: registry, prefix: 'isthmus_', eventLoopMonitoringPrecision: lagSampleMs });
  return registry;
}

export interface HealthOptions {
  /** `host:port`; `[v6]:port`; port 0 takes a free one. */
  readonly address: string;
  readonly ready: () => boolean;
  readonly registry: Registry;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves /healthz (200 while the event loop turns), /readyz (200 or 503 by `ready`) and /metrics.
 * @throws RangeError when the address cannot be read; the system's error when it cannot be bound
 */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const { host, port } = parseAddress(options.address);
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    const answer = (status: number, body: string, type = 'text/plain') => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') answer(405, 'only GET\n');
    else if (path === '/healthz') answer(200, 'ok\n');
    else if (path === '/readyz' && options.ready()) answer(200, 'ready\n');
    else if (path === '/readyz') answer(503, 'not ready\n');
    else if (path === '/metrics')
      void options.registry.metrics().then((body) => answer(200, body, options.registry.contentType));
    else answer(404, 'try /healthz, /readyz or /metrics\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function parseAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw new RangeError(`"${address}" is no host:port to listen on; write for example 127.0.0.1:10660`);
  return { host: match[1] ?? match[2] ?? '', port };
}
