/**
 * The servers on health check ports of Services. A load balancer sends clients only to nodes whose server reports ready endpoints.
 * The answers are those of kube-proxy.
 */
import type { ServerResponse } from 'node:http';
import type { HealthCheck } from '../model/service.ts';
import { PortServer } from './port-server.ts';

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
  readonly server: PortServer;
}

export class HealthChecks {
  readonly #options: HealthChecksOptions;
  readonly #listeners = new Map<number, Listener>();

  constructor(options: HealthChecksOptions) {
    this.#options = options;
  }

  set(checks: Iterable<HealthCheck>): void {
    const wanted = new Map([...checks].map((check) => [check.port, check]));
    for (const [port, { check, server }] of this.#listeners) {
      const next = wanted.get(port);
      // A refusal is reported on each Service that has the port.
      if (server.isRefused ? isSameService(next, check) : next !== undefined) continue;
      this.#listeners.delete(port);
      void server.close();
      if (server.isRefused) this.#options.onOver(check);
    }
    for (const [port, check] of wanted) {
      const listener = this.#listeners.get(port);
      if (listener === undefined) this.#listen(check);
      else listener.check = check;
    }
  }

  async close(): Promise<void> {
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    await Promise.all(listeners.map(({ server }) => server.close()));
  }

  #listen(check: HealthCheck): void {
    const { port } = check;
    const server = new PortServer({
      port,
      answer: (_, response) => this.#answer(listener.check, response),
      onRefused: (reason) => this.#options.onRefused(listener.check, reason),
      onListening: () => this.#options.onOver(listener.check),
    });
    const listener: Listener = { check, server };
    this.#listeners.set(port, listener);
  }

  #answer({ localEndpoints, namespace, name }: HealthCheck, response: ServerResponse): void {
    const isHealthy = this.#options.isHealthy();
    response.writeHead(localEndpoints > 0 && isHealthy ? 200 : 503, {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'X-Load-Balancing-Endpoint-Weight': `${localEndpoints}`,
    });
    const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: isHealthy };
    response.end(JSON.stringify(body));
  }
}

function isSameService(a: HealthCheck | undefined, b: HealthCheck): boolean {
  return a?.namespace === b.namespace && a.name === b.name;
}
