/**
 * The server at which load balancers of clouds ask whether the node takes traffic: /healthz, and /livez whatever will become of the node.
 * Paths and answers are those of kube-proxy.
 */
import type { ServerResponse } from 'node:http';
import { PortServer } from './port-server.ts';

export interface HealthzOptions {
  readonly port: number;
  /** Whether the kernel has the wanted table. */
  readonly isHealthy: () => boolean;
  /** Whether the node may have new connections: it will not be deleted soon. */
  readonly isEligible: () => boolean;
  /** Time of the last round that left the kernel with the wanted table; undefined before the first. */
  readonly updatedMs: () => number | undefined;
  /** Called when `refusal` has changed. */
  readonly onChange: () => void;
}

/** The zero time of Go, which kube-proxy prints before its first update. */
const never = '0001-01-01T00:00:00Z';

export class Healthz {
  readonly #options: HealthzOptions;
  readonly #server: PortServer;
  #refusal: string | undefined;

  constructor(options: HealthzOptions) {
    this.#options = options;
    const note = (refusal: string | undefined): void => {
      const isChanged = refusal !== this.#refusal;
      this.#refusal = refusal;
      if (isChanged) options.onChange();
    };
    this.#server = new PortServer({
      port: options.port,
      answer: ({ url }, response) => this.#answer(url?.split('?')[0], response),
      onRefused: note,
      onListening: () => note(undefined),
    });
  }

  /** Why the server does not listen; undefined while it does. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #answer(path: string | undefined, response: ServerResponse): void {
    if (path === '/healthz') this.#report(response, { nodeEligible: this.#options.isEligible() });
    else if (path === '/livez') this.#report(response, {});
    else response.writeHead(404, { 'Content-Type': 'text/plain' }).end('try /healthz or /livez\n');
  }

  #report(response: ServerResponse, eligibility: { readonly nodeEligible?: boolean }): void {
    const healthy = this.#options.isHealthy();
    const isGood = healthy && eligibility.nodeEligible !== false;
    const currentTime = new Date().toISOString();
    const updatedMs = this.#options.updatedMs();
    const updated = updatedMs === undefined ? never : new Date(updatedMs).toISOString();
    const family = { lastUpdated: updated, healthy };
    response.writeHead(isGood ? 200 : 503, {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
    });
    response.end(
      JSON.stringify({
        // As with kube-proxy, an answer of 200 vouches for the present.
        lastUpdated: isGood ? currentTime : updated,
        currentTime,
        ...eligibility,
        healthy,
        // Both families are in one table.
        status: { IPv4: family, IPv6: family },
      }),
    );
  }
}
