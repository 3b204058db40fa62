/**
 * Endpoints that share their equal parts. In: endpoints as they were decoded, each with its own copy of the node's name and of
 * the ports. Out: equal endpoints in less than half of the memory: the hub may hold a million.
 */
import type { EndpointPort, ExportedEndpoint } from '../../model/exported-service.ts';

/** Characters of all parts. A member has fewer nodes, zones and sets of ports; one that has more only shares less. */
const mostCharacters = 512 * 1024;

export class SharedParts {
  readonly #texts = new Map<string, string>();
  readonly #ports = new Map<string, readonly EndpointPort[]>();
  #characters = 0;

  endpoint(endpoint: ExportedEndpoint): ExportedEndpoint {
    const { address, hostname, zone, node, isReady, isServingWhileTerminating, ports } = endpoint;
    return {
      address,
      hostname,
      zone: this.#shared(this.#texts, zone, zone),
      node: this.#shared(this.#texts, node, node),
      isReady,
      isServingWhileTerminating,
      ports: this.#shared(this.#ports, JSON.stringify(ports), ports),
    };
  }

  #shared<T>(known: Map<string, T>, key: string, value: T): T {
    const found = known.get(key);
    if (found !== undefined) return found;
    this.#characters += key.length;
    if (this.#characters > mostCharacters) {
      this.#texts.clear();
      this.#ports.clear();
      this.#characters = key.length;
    }
    known.set(key, value);
    return value;
  }
}
