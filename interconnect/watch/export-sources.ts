/**
 * What says that a Service is exported: a ServiceExport, or Cilium's annotation of the Service where there is no ServiceExport of its name. In:
 * both watches. Out: one list of exports. A ServiceExport always counts, because the right to create it can be given apart.
 */
import type { Reflector, ReflectorChange } from '../../lib/kube/types.ts';
import { keyOf, type GlobalService, type ServiceExportObject } from '../model/service-objects.ts';

export interface ExportSourcesOptions {
  readonly serviceExports: Pick<Reflector<ServiceExportObject>, 'get' | 'entries' | 'subscribe'>;
  readonly globalServices: Pick<Reflector<GlobalService>, 'get' | 'entries' | 'subscribe'>;
}

type Listener = (change: ReflectorChange<ServiceExportObject>) => void;

export class ExportSources {
  readonly #options: ExportSourcesOptions;
  readonly #listeners = new Set<Listener>();
  #areAnnotationsRead = false;

  constructor(options: ExportSourcesOptions) {
    this.#options = options;
  }

  get(key: string): ServiceExportObject | undefined {
    return this.#options.serviceExports.get(key) ?? this.#aliasOf(this.#options.globalServices.get(key));
  }

  *entries(): Generator<[string, ServiceExportObject], void> {
    const { serviceExports, globalServices } = this.#options;
    yield* serviceExports.entries();
    for (const [key, service] of globalServices.entries()) {
      const alias = this.#aliasOf(service);
      if (alias !== undefined && serviceExports.get(key) === undefined) yield [key, alias];
    }
  }

  subscribe(listener: Listener): () => void {
    const { serviceExports, globalServices } = this.#options;
    this.#listeners.add(listener);
    const stops = [
      serviceExports.subscribe(({ key, before, after }) => {
        const alias = this.#aliasOf(globalServices.get(key));
        listener({ key, before: before ?? alias, after: after ?? alias });
      }),
      globalServices.subscribe(({ key, before, after }) => {
        if (serviceExports.get(key) === undefined) announce(listener, key, this.#aliasOf(before), this.#aliasOf(after));
      }),
    ];
    return () => {
      this.#listeners.delete(listener);
      for (const stop of stops) stop();
    };
  }

  /** `spec.ciliumAnnotations` of the Interconnect; false before the first call. */
  readAnnotations(areRead: boolean): void {
    if (areRead === this.#areAnnotationsRead) return;
    this.#areAnnotationsRead = areRead;
    const { serviceExports, globalServices } = this.#options;
    for (const [key, service] of globalServices.entries()) {
      if (serviceExports.get(key) !== undefined) continue;
      const alias = exportOf(service);
      for (const listener of this.#listeners)
        announce(listener, key, areRead ? undefined : alias, areRead ? alias : undefined);
    }
  }

  #aliasOf(service: GlobalService | undefined): ServiceExportObject | undefined {
    return service === undefined || !this.#areAnnotationsRead ? undefined : exportOf(service);
  }
}

/** Most changes of a Service are none of its annotations. */
function announce(
  listener: Listener,
  key: string,
  before: ServiceExportObject | undefined,
  after: ServiceExportObject | undefined,
): void {
  if (JSON.stringify(before) !== JSON.stringify(after)) listener({ key, before, after });
}

function exportOf(service: GlobalService): ServiceExportObject | undefined {
  const { namespace, name, uid, createdMs, isDeleting, isGlobal, isShared } = service;
  if (isGlobal !== true) return undefined;
  const none = { labels: {}, annotations: {}, conditions: [] };
  return { namespace, name, uid, createdMs, isDeleting, generation: 0, ...none, isAlias: true, isShared };
}

/** What a Service's annotations say against its ServiceExport, which counts; undefined without a contradiction. */
export function contradictionOf(
  service: GlobalService | undefined,
  object: ServiceExportObject | undefined,
): string | undefined {
  if (service === undefined || object === undefined || object.isDeleting) return undefined;
  const wrong = [
    ...(service.isGlobal === false ? ['service.cilium.io/global'] : []),
    ...(service.isShared ? [] : ['service.cilium.io/shared']),
  ];
  if (wrong.length === 0) return undefined;
  return `annotation ${wrong.join(' and ')} is not true, and ServiceExport ${keyOf(object)} exports the Service: the ServiceExport counts; remove one of the two`;
}
