/** Services and EndpointSlices of all namespaces, and the networks of ClusterIPs. Changes are planned by the rounds of `apply/services.ts`. */
import type { EndpointSlice, Service } from '../../lib/services/service.ts';
import type { Mirror } from './cluster.ts';

export interface ServiceObjects {
  readonly services: Mirror<Service>;
  readonly slices: Mirror<EndpointSlice>;
  /** CIDRs of each ServiceCIDR. */
  readonly cidrs: Mirror<readonly string[]>;
}

export class Services {
  readonly objects: ServiceObjects;
  /** Service → its slices by name. */
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();

  /** @param onChange called with the key of each Service that may have changed */
  constructor(objects: ServiceObjects, onChange: (service: string) => void) {
    this.objects = objects;
    for (const [name, slice] of objects.slices.entries()) this.#set(name, undefined, slice);
    objects.slices.subscribe(({ key, before, after }) => {
      this.#set(key, before, after);
      for (const service of new Set([before?.service, after?.service])) if (service) onChange(service);
    });
    objects.services.subscribe(({ key }) => onChange(key));
  }

  get keys(): Iterable<string> {
    return [...this.objects.services.entries()].map(([key]) => key);
  }

  get(key: string): Service | undefined {
    return this.objects.services.get(key);
  }

  slicesOf(service: string): Iterable<EndpointSlice> {
    return this.#slices.get(service)?.values() ?? [];
  }

  #set(name: string, before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    if (before !== undefined && before.service !== after?.service) {
      const slices = this.#slices.get(before.service);
      slices?.delete(name);
      if (slices?.size === 0) this.#slices.delete(before.service);
    }
    if (after === undefined || after.service === '') return;
    const slices = this.#slices.get(after.service) ?? new Map<string, EndpointSlice>();
    this.#slices.set(after.service, slices.set(name, after));
  }
}
