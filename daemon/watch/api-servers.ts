/** Addresses of API servers: of the kubeconfig or the environment, and of the EndpointSlices of the cluster. */
import { ServerAddresses, type ServerAddressesOptions } from '../../lib/kube/server-addresses.ts';
import type { Reflector } from '../../lib/kube/types.ts';

export class ApiServers {
  readonly #servers: ServerAddresses;
  readonly #listeners = new Set<() => void>();
  #slices: Reflector<readonly string[]> | undefined;

  constructor(options: Omit<ServerAddressesOptions, 'onChange'>) {
    this.#servers = new ServerAddresses({ ...options, onChange: () => this.#notify() });
  }

  get all(): readonly string[] {
    const announced = [...(this.#slices?.entries() ?? [])].flatMap(([, addresses]) => addresses);
    return [...new Set([...this.#servers.all, ...announced])];
  }

  /** Whether the EndpointSlices are known; before that, the address of a Service may stand for servers elsewhere. */
  get isComplete(): boolean {
    return this.#slices !== undefined;
  }

  follow(slices: Reflector<readonly string[]>): void {
    this.#slices = slices;
    slices.subscribe(() => this.#notify());
    this.#notify();
  }

  /** Called after each change. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
