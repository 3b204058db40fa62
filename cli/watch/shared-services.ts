/**
 * Reads exported and imported Services. In: a client. Out: SharedServices. What the user may not read is part of the value.
 * @throws KubeUnreachable, KubeApiError, or the timeout's TimeoutError
 */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import {
  configMaps,
  deployments,
  endpointSlices,
  interconnects,
  namespaces,
  remoteClusters,
  serviceExports,
  serviceImports,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import type { ExportReading, ImportedEndpoints, ImportReading, SharedServices } from '../model/shared-services.ts';
import { conditionOf, type Unreadable } from '../model/snapshot.ts';
import { parseInterconnect } from './objects.ts';
import { canonicalName } from './read.ts';

const madeBy = { key: 'app.kubernetes.io/managed-by', value: 'isthmus-interconnect' } as const;
const sourceLabel = 'multicluster.kubernetes.io/source-cluster';
const serviceLabel = 'multicluster.kubernetes.io/service-name';
const dns = { namespace: 'kube-system', name: 'coredns' } as const;

export interface SharedOptions {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly label: string;
  /** Undefined: of all. */
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
}

export async function readSharedServices(options: SharedOptions): Promise<SharedServices> {
  const reader = new Reader(options);
  const [exports, imports, slices, names, remotes, interconnect, config, deployment] = await Promise.all([
    reader.list(serviceExports),
    reader.list(serviceImports),
    reader.list(endpointSlices, serviceLabel),
    reader.list(namespaces),
    reader.list(remoteClusters),
    reader.get(interconnects, { name: canonicalName }),
    reader.get(configMaps, dns),
    reader.get(deployments, dns),
  ]);
  const membership = interconnect === undefined ? undefined : parseInterconnect(interconnect);
  const spec = membership === undefined || 'code' in membership.spec ? undefined : membership.spec;
  return {
    label: options.label,
    cluster: spec?.clusterName,
    isConnected: conditionOf(membership?.status.conditions, 'HubReachable')?.status === 'True',
    namespaces: (names ?? []).map(({ metadata }) => metadata.name),
    exports: (exports ?? []).map(parseExport),
    imports: (imports ?? []).map(parseImport),
    endpoints: (slices ?? []).flatMap(parseEndpoints),
    remotes: (remotes ?? []).map(({ metadata, ...rest }) => {
      const { phase = '', pathsUp = '' } = (rest['status'] ?? {}) as { phase?: string; pathsUp?: string };
      return { name: metadata.name, phase, pathsUp };
    }),
    dns: {
      corefile: config && textOf(fieldsOf(config['data'])['Corefile']),
      images: recordsOf(fieldsOf(fieldsOf(fieldsOf(deployment?.['spec'])['template'])['spec'])['containers']).flatMap(
        ({ image }) => textOf(image),
      ),
    },
    isServed: reader.isServed,
    unreadable: reader.unreadable,
  };
}

class Reader {
  readonly unreadable: Unreadable[] = [];
  isServed = true;
  readonly #options: SharedOptions;

  constructor(options: SharedOptions) {
    this.#options = options;
  }

  async list(resource: Resource, labelSelector?: string): Promise<readonly RawObject[] | undefined> {
    const { client, namespace, signal } = this.#options;
    const where = resource.namespaced && namespace !== undefined ? { namespace } : {};
    const selection = { ...where, ...(labelSelector === undefined ? {} : { labelSelector }), signal };
    const raw = await this.#orUnreadable(resource, client.list(resource, selection));
    if (raw === undefined && (resource === serviceExports || resource === serviceImports))
      this.isServed &&= this.unreadable.some(({ what }) => what === resource.plural);
    const keyOf = ({ metadata }: RawObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
    return raw?.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  async get(
    resource: Resource,
    name: { readonly namespace?: string; readonly name: string },
  ): Promise<RawObject | undefined> {
    const { client, signal } = this.#options;
    return await this.#orUnreadable(resource, client.get(resource, name, { signal }));
  }

  /** What does not exist, and a kind that is not served, is undefined. */
  async #orUnreadable<T>({ plural }: Resource, request: Promise<T>): Promise<T | undefined> {
    try {
      return await request;
    } catch (error) {
      if (!(error instanceof KubeApiError) || (error.status !== 404 && error.status !== 403)) throw error;
      if (error.status === 403)
        this.unreadable.push({
          code: 'Forbidden',
          what: plural,
          message: `no permission to read ${plural} (${error.message}); what depends on it is left out`,
        });
      return undefined;
    }
  }
}

function parseExport(raw: RawObject): ExportReading {
  const { conditions = [] } = (raw['status'] ?? {}) as { conditions?: readonly Condition[] };
  const { namespace = '', name } = raw.metadata;
  return { namespace, name, conditions };
}

function parseImport(raw: RawObject): ImportReading {
  const spec = fieldsOf(raw['spec']);
  const ports = recordsOf(spec['ports']).map(({ port, protocol }) => `${numberOf(port)}/${textOf(protocol) || 'TCP'}`);
  return {
    ...parseExport(raw),
    type: textOf(spec['type']),
    ips: textsOf(spec['ips']),
    ports,
    clusters: recordsOf(fieldsOf(raw['status'])['clusters']).map(({ cluster }) => textOf(cluster)),
    isOurs: raw.metadata.labels?.[madeBy.key] === madeBy.value,
  };
}

function parseEndpoints(raw: RawObject): readonly ImportedEndpoints[] {
  const { namespace = '', labels = {} } = raw.metadata;
  const [service, cluster] = [labels[serviceLabel], labels[sourceLabel]];
  if (service === undefined || cluster === undefined) return [];
  const all = recordsOf(raw['endpoints']);
  // Without the condition an endpoint counts as ready.
  const ready = all.filter(({ conditions }) => fieldsOf(conditions)['ready'] !== false);
  return [{ namespace, service, cluster, ready: ready.length, all: all.length }];
}
