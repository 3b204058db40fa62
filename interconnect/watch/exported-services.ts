/**
 * The Services and EndpointSlices of the namespaces that have exports. In: the exports. Out: the parts of each export, and which
 * exports changed. A namespace without exports is not watched, so that memory and work follow from what is exported.
 */
import { reflect } from '../../lib/kube/reflector.ts';
import { endpointSlices, services } from '../../lib/kube/resources.ts';
import type { KubeClient, Reflector, ReflectorChange } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { serviceLabel } from '../../lib/services/parse.ts';
import type { ExportSources } from './export-sources.ts';
import type { LocalService, LocalSlice, ServiceExportObject } from '../model/service-objects.ts';
import { parseLocalService, parseLocalSlice } from './service-objects.ts';

export interface ExportedServicesOptions {
  readonly client: KubeClient;
  readonly exports: Pick<ExportSources, 'get' | 'subscribe'> & {
    entries(): Iterable<[string, ServiceExportObject]>;
  };
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** The parts of some export are different now. */
  readonly onChange: () => void;
}

/** The parts of an export. */
export interface ExportParts {
  readonly object: ServiceExportObject;
  /** Undefined if it does not exist. */
  readonly service: LocalService | undefined;
  readonly slices: readonly LocalSlice[];
}

interface Watched {
  readonly services: Reflector<LocalService>;
  readonly slices: Reflector<LocalSlice>;
  /** By Service: names of its slices. */
  readonly slicesOf: Map<string, Set<string>>;
  /** Exports of the namespace, by name. */
  readonly names: Set<string>;
  isSynced: boolean;
  /** Resolves when `isSynced` is true; rejects if the watch was stopped before. */
  readonly ready: Promise<void>;
}

export class ExportedServicesWatch {
  readonly #options: ExportedServicesOptions;
  readonly #namespaces = new Map<string, Watched>();
  readonly #dirty = new Set<string>();
  readonly #stopping = new Set<Promise<void>>();
  #unsubscribe: (() => void) | undefined;

  constructor(options: ExportedServicesOptions) {
    this.#options = options;
  }

  /** Call once the ServiceExports are in sync. Resolves when the parts of all that still exist are. */
  async start(): Promise<void> {
    const { exports } = this.#options;
    for (const [key, object] of exports.entries()) this.#seen(key, object);
    this.#unsubscribe = exports.subscribe(({ key, before, after }) => {
      if (after === undefined) this.#gone(key, before);
      else this.#seen(key, after);
      this.#options.onChange();
    });
    // A namespace whose last export goes meanwhile is not watched any more.
    await Promise.allSettled([...this.#namespaces.values()].map(({ ready }) => ready));
  }

  /** Keys of exports that changed since the last call, of removed ones too. */
  takeDirty(): ReadonlySet<string> {
    const dirty = new Set(this.#dirty);
    this.#dirty.clear();
    return dirty;
  }

  /** `gone`: there is no such export. `unknown`: its Service is not known yet. */
  get(key: string): ExportParts | 'gone' | 'unknown' {
    const object = this.#options.exports.get(key);
    if (object === undefined || object.isDeleting) return 'gone';
    const watched = this.#namespaces.get(object.namespace);
    if (watched?.isSynced !== true) return 'unknown';
    const names = [...(watched.slicesOf.get(key) ?? [])].sort();
    const slices = names.flatMap((name) => watched.slices.get(name) ?? []);
    const service = watched.services.get(key);
    // Another watch has brought the annotation of a Service that this one does not have yet, or not any more.
    if (object.isAlias && service === undefined) return 'gone';
    return { object, service, slices };
  }

  keys(): Iterable<string> {
    return [...this.#options.exports.entries()].map(([key]) => key);
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    for (const [, watched] of this.#namespaces) this.#end(watched);
    this.#namespaces.clear();
    await Promise.all(this.#stopping);
  }

  #seen(key: string, { namespace, name }: ServiceExportObject): void {
    this.#dirty.add(key);
    const watched = this.#namespaces.get(namespace) ?? this.#watch(namespace);
    watched.names.add(name);
  }

  #gone(key: string, before: ServiceExportObject | undefined): void {
    this.#dirty.add(key);
    const watched = this.#namespaces.get(before?.namespace ?? '');
    if (before === undefined || watched === undefined) return;
    watched.names.delete(before.name);
    if (watched.names.size > 0) return;
    this.#namespaces.delete(before.namespace);
    this.#end(watched);
  }

  #watch(namespace: string): Watched {
    const { client, signal, log } = this.#options;
    const common = { client, namespace, signal, log };
    const parts = {
      services: reflect({ ...common, resource: services, parse: parseLocalService }),
      slices: reflect({ ...common, resource: endpointSlices, parse: parseLocalSlice, labelSelector: serviceLabel }),
    };
    const ready = Promise.all([parts.services.synced, parts.slices.synced]).then(() => {
      watched.isSynced = true;
      for (const name of watched.names) this.#dirty.add(`${namespace}/${name}`);
      this.#options.onChange();
    });
    const watched: Watched = { ...parts, ready, slicesOf: new Map(), names: new Set(), isSynced: false };
    // Only `start` waits for it.
    ready.catch(() => undefined);
    this.#namespaces.set(namespace, watched);
    watched.services.subscribe(({ key }) => this.#changed(key));
    watched.slices.subscribe((change) => this.#sliceChanged(watched, change));
    return watched;
  }

  #sliceChanged({ slicesOf }: Watched, { key, before, after }: ReflectorChange<LocalSlice>): void {
    if (before !== undefined && before.service !== after?.service) {
      const names = slicesOf.get(before.service);
      names?.delete(key);
      if (names?.size === 0) slicesOf.delete(before.service);
    }
    if (after !== undefined) slicesOf.set(after.service, (slicesOf.get(after.service) ?? new Set<string>()).add(key));
    for (const service of new Set([before?.service, after?.service])) if (service !== undefined) this.#changed(service);
  }

  #changed(key: string): void {
    if (this.#options.exports.get(key) === undefined) return;
    this.#dirty.add(key);
    this.#options.onChange();
  }

  #end({ services: one, slices: other }: Watched): void {
    const stopped = Promise.all([one.stop(), other.stop()]).then(() => undefined);
    this.#stopping.add(stopped);
    void stopped.then(() => this.#stopping.delete(stopped));
  }
}
