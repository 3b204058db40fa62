/** The HTTP server of a room for its supervisor and Prometheus: /healthz, /readyz and /metrics. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * Interval between two samples of the event loop's lag, in milliseconds; also the lowest lag that is reported. Each sample wakes
 * the process: fifty a second use a quarter of a percent of a core in an otherwise idle process.
 */
const lagSampleMs = 100;

/** A new registry with the process metrics: CPU, memory, garbage collection, event-loop lag. @param labels of every series */
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
    throw new RangeError(`"${address}" is not a host:port to listen on; write for example 127.0.0.1:10660`);
  return { host: match[1] ?? match[2] ?? '', port };
}
