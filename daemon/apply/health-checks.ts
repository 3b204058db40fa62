/**
 * The servers on health check ports of Services. A load balancer sends clients only to nodes whose server reports ready endpoints.
 * The answers are those of kube-proxy.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { HealthCheck } from '../model/service.ts';

export interface HealthChecksOptions {
  /** Whether the kernel has the wanted table. */
  readonly isHealthy: () => boolean;
  /** Called once for each server that cannot listen. */
  readonly onRefused: (check: HealthCheck, reason: string) => void;
  /** Called for each server that listens, and for each refused one that is no longer wanted. */
  readonly onOver: (check: HealthCheck) => void;
}

interface Listener {
  check: HealthCheck;
  readonly server: Server;
}

interface Refused {
  readonly check: HealthCheck;
  readonly timer: NodeJS.Timeout;
}

/** A load balancer takes a node out after a few checks without an answer, as when kube-proxy has just closed the port. */
const retryMs = 1000;

export class HealthChecks {
  readonly #options: HealthChecksOptions;
  readonly #listeners = new Map<number, Listener>();
  /** Ports that another program has, and the timer of the next attempt. */
  readonly #refused = new Map<number, Refused>();
  #wanted: ReadonlyMap<number, HealthCheck> = new Map();

  constructor(options: HealthChecksOptions) {
    this.#options = options;
  }

  set(checks: Iterable<HealthCheck>): void {
    this.#wanted = new Map([...checks].map((check) => [check.port, check]));
    for (const [port, { server }] of this.#listeners) {
      if (this.#wanted.has(port)) continue;
      this.#listeners.delete(port);
      close(server);
    }
    for (const [port, { check, timer }] of this.#refused) {
      if (isSameService(this.#wanted.get(port), check)) continue;
      clearTimeout(timer);
      this.#refused.delete(port);
      this.#options.onOver(check);
    }
    for (const [port, check] of this.#wanted) {
      const listener = this.#listeners.get(port);
      if (listener !== undefined) listener.check = check;
      else if (!this.#refused.has(port)) this.#listen(check);
    }
  }

  async close(): Promise<void> {
    for (const { timer } of this.#refused.values()) clearTimeout(timer);
    this.#wanted = new Map();
    const servers = [...this.#listeners.values()].map(({ server }) => server);
    this.#listeners.clear();
    const listening = servers.filter((server) => server.listening);
    await Promise.all(listening.map((server) => once(close(server), 'close')));
  }

  #listen(check: HealthCheck, isRetry = false): void {
    const { port } = check;
    const server = createServer((_, response) => {
      const { localEndpoints, namespace, name } = listener.check;
      const isHealthy = this.#options.isHealthy();
      response.writeHead(localEndpoints > 0 && isHealthy ? 200 : 503, {
        'Content-Type': 'application/json',
        'X-Content-Type-Options': 'nosniff',
        'X-Load-Balancing-Endpoint-Weight': `${localEndpoints}`,
      });
      const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: isHealthy };
      response.end(JSON.stringify(body));
    });
    const listener: Listener = { check, server };
    this.#listeners.set(port, listener);
    server.on('error', (error) => {
      if (this.#listeners.get(port) !== listener) return;
      this.#listeners.delete(port);
      if (!isRetry) this.#options.onRefused(listener.check, error.message);
      this.#refused.set(port, { check: listener.check, timer: setTimeout(() => this.#retry(port), retryMs) });
    });
    server.on('listening', () => this.#options.onOver(listener.check));
    // Without a host it listens on all addresses of both families.
    server.listen(port);
    server.unref();
  }

  #retry(port: number): void {
    this.#refused.delete(port);
    const check = this.#wanted.get(port);
    if (check !== undefined) this.#listen(check, true);
  }
}

function isSameService(a: HealthCheck | undefined, b: HealthCheck): boolean {
  return a?.namespace === b.namespace && a.name === b.name;
}

function close(server: Server): Server {
  server.close();
  server.closeAllConnections();
  return server;
}
