/** Ports whose keys in OVN are longer than VXLAN carries, by their subnets. Read by the report of a Subnet. */
import type { Allocation } from '../../ipam/subnet-pool.ts';

export interface UnreachablePortsOptions {
  readonly allocation: (port: string) => Allocation | undefined;
  /** The ports of a subnet changed. */
  readonly onChange: (subnet: string) => void;
}

export class UnreachablePorts {
  readonly #options: UnreachablePortsOptions;
  #ports: ReadonlySet<string> = new Set();
  #bySubnet: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(options: UnreachablePortsOptions) {
    this.#options = options;
  }

  of(subnet: string): readonly string[] {
    return this.#bySubnet.get(subnet) ?? [];
  }

  /** Sets all of them. Without an argument, the subnets of the present ones are looked up again. */
  set(ports: ReadonlySet<string> = this.#ports): void {
    const before = this.#bySubnet;
    this.#ports = ports;
    const bySubnet = Map.groupBy(ports, (port) => this.#options.allocation(port)?.subnet ?? '');
    // Ports without an address of a subnet, such as those of routers.
    bySubnet.delete('');
    this.#bySubnet = bySubnet;
    for (const subnet of new Set([...before.keys(), ...this.#bySubnet.keys()]))
      if (before.get(subnet)?.join() !== this.#bySubnet.get(subnet)?.join()) this.#options.onChange(subnet);
  }
}
