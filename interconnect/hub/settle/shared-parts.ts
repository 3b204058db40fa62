/**
 * Endpoints that share their equal parts. In: endpoints as they were decoded, each with its own copy of the node's name and of
 * the ports. Out: equal endpoints in less than half of the memory: the hub may hold a million.
 */
import type { EndpointPort, ExportedEndpoint } from '../../model/exported-service.ts';

/** A member has fewer nodes, zones and sets of ports; one that has more only shares less. */
const mostParts = 10_000;

export class SharedParts {
  readonly #texts = new Map<string, string>();
  readonly #ports = new Map<string, readonly EndpointPort[]>();

  endpoint(endpoint: ExportedEndpoint): ExportedEndpoint {
    const { address, hostname, zone, node, isReady, isServingWhileTerminating, ports } = endpoint;
    return {
      address,
      hostname,
      zone: shared(this.#texts, zone, zone),
      node: shared(this.#texts, node, node),
      isReady,
      isServingWhileTerminating,
      ports: shared(this.#ports, JSON.stringify(ports), ports),
    };
  }
}

function shared<T>(known: Map<string, T>, key: string, value: T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= mostParts) known.clear();
  known.set(key, value);
  return value;
}
