/** Addresses of API servers: of the kubeconfig or the environment, and those that the cluster says. */
import { ServerAddresses, type ServerAddressesOptions } from '../../lib/kube/server-addresses.ts';
import type { Reflector } from '../../lib/kube/types.ts';

export class ApiServers {
  readonly #servers: ServerAddresses;
  readonly #listeners = new Set<() => void>();
  #slices: Reflector<readonly string[]> | undefined;

  constructor(options: Omit<ServerAddressesOptions, 'onChange'>) {
    this.#servers = new ServerAddresses({ ...options, onChange: () => this.#tell() });
  }

  get all(): readonly string[] {
    const told = [...(this.#slices?.entries() ?? [])].flatMap(([, addresses]) => addresses);
    return [...new Set([...this.#servers.all, ...told])];
  }

  /** Whether the cluster was asked: before, the address of a Service may stand for servers elsewhere. */
  get isComplete(): boolean {
    return this.#slices !== undefined;
  }

  follow(slices: Reflector<readonly string[]>): void {
    this.#slices = slices;
    slices.subscribe(() => this.#tell());
    this.#tell();
  }

  /** After each change. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
