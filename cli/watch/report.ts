/**
 * Reads what a bug report needs: objects of Isthmus and of Kubernetes' network, events and logs of Isthmus, never a Secret. What may not be read,
 * or does not answer, becomes part of the value. In: a client. Out: files without secrets.
 */
import { stringify } from '../../lib/kube/yaml.ts';
import { KubeApiError, KubeUnreachable } from '../../lib/kube/errors.ts';
import {
  clusterNetworkPolicies,
  configMaps,
  customResourceDefinitions,
  daemonSets,
  deployments,
  endpointSlices,
  events,
  interconnects,
  leases,
  namespaces,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  pods,
  serviceCidrs,
  services,
  statefulSets,
  vpcs,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import type { ReportFile, ReportReading } from '../model/report.ts';
import { digestName } from '../../lib/ovn/digest-name.ts';
import { redactObject, redactPod, redactText } from './redact.ts';

export interface ReportOptions {
  readonly client: Pick<KubeClient, 'list' | 'request'>;
  readonly namespace: string;
  /** Lines of each log, from its end. */
  readonly logLines: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Groups whose kinds are read, whichever the cluster serves. */
const groups: ReadonlySet<string> = new Set([
  vpcs.group,
  interconnects.group,
  clusterNetworkPolicies.group,
  'multicluster.x-k8s.io',
]);
const ofKubernetes = [namespaces, nodes, services, endpointSlices, networkPolicies, serviceCidrs] as const;
/** Read in the namespace of Isthmus, which is that of other programs as well. */
const ofIsthmus = [daemonSets, deployments, statefulSets, configMaps, leases] as const;
/** A log of one container has at most this size. */
const logBytes = 4 << 20;
const atOnce = 8;
/** What the names of our own objects begin with. */
const prefix = 'isthmus-';
const longestFolder = 50;

function isOwn({ metadata: { name, labels } }: RawObject): boolean {
  return labels?.['app.kubernetes.io/part-of'] === 'isthmus' || name.startsWith(prefix);
}

export async function readReport(options: ReportOptions): Promise<ReportReading> {
  const reader = new ReportReader(options);
  await reader.read();
  return reader.reading;
}

class ReportReader {
  readonly #options: ReportOptions;
  readonly #files: ReportFile[] = [];
  readonly #unread: string[] = [];

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  get reading(): ReportReading {
    return { files: this.#files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), unread: this.#unread };
  }

  async read(): Promise<void> {
    const custom = await this.#servedKinds();
    await inTurns(
      [
        () => this.#version(),
        ...[...ofKubernetes, ...custom].map((kind) => () => this.#objects(kind)),
        ...ofIsthmus.map((kind) => () => this.#ownObjects(kind)),
        () => this.#events(),
        () => this.#podsOfOthers(),
      ],
      atOnce,
    );
    await this.#ownPods();
  }

  async #version(): Promise<void> {
    const answer = await this.#try('the version of the API server', () => this.#get('/version'));
    if (answer !== undefined) this.#add('kubernetes-version.yaml', stringify(answer));
  }

  /** Kinds of the groups in the version that the API server prefers for storage. */
  async #servedKinds(): Promise<readonly Resource[]> {
    const definitions = await this.#list(customResourceDefinitions);
    return (definitions ?? []).flatMap((raw) => {
      const { group, scope, names, versions } = raw['spec'] as {
        group: string;
        scope: string;
        names: { plural: string; kind: string };
        versions: readonly { name: string; served: boolean; storage: boolean }[];
      };
      const isWanted = groups.has(group) || group === networkAttachmentDefinitions.group;
      const served = versions.filter((one) => one.served);
      const version = served.find(({ storage }) => storage) ?? served[0];
      if (!isWanted || version === undefined) return [];
      const { plural, kind } = names;
      return [{ group, version: version.name, plural, kind, namespaced: scope === 'Namespaced' }];
    });
  }

  async #objects(resource: Resource): Promise<void> {
    const found = await this.#list(resource);
    if (found === undefined || found.length === 0) return;
    this.#addObjects(
      `objects/${[resource.plural, resource.group].filter(Boolean).join('.')}.yaml`,
      found.map(redactObject),
    );
  }

  async #ownObjects(resource: Resource): Promise<void> {
    const { namespace } = this.#options;
    const own = (await this.#list(resource, { namespace }))?.filter(isOwn) ?? [];
    if (own.length > 0) this.#addObjects(`isthmus/${resource.plural}.yaml`, own.map(redactObject));
  }

  /** Events that Isthmus reported, in all namespaces, and those about its own objects. */
  async #events(): Promise<void> {
    const found = await this.#list(events);
    const { namespace } = this.#options;
    const own = (found ?? []).filter((raw) => {
      const { source, reportingComponent: reporter = '' } = raw as {
        readonly source?: { readonly component?: string };
        readonly reportingComponent?: string;
      };
      const component = source?.component ?? '';
      const { involvedObject } = raw as { readonly involvedObject?: { readonly name?: string } };
      const isAboutOwn = raw.metadata.namespace === namespace && involvedObject?.name?.startsWith(prefix) === true;
      return isAboutOwn || [component, reporter].some((one) => one.startsWith(prefix));
    });
    if (own.length > 0) this.#addObjects('isthmus/events.yaml', own.map(redactObject));
  }

  async #podsOfOthers(): Promise<void> {
    const found = await this.#list(pods);
    if (found !== undefined) this.#addObjects('objects/pods.yaml', found.map(redactPod));
  }

  async #ownPods(): Promise<void> {
    const { namespace } = this.#options;
    const own = await this.#list(pods, { namespace, labelSelector: 'app.kubernetes.io/part-of=isthmus' });
    if (own === undefined) return;
    this.#addObjects('isthmus/pods.yaml', own.map(redactObject));
    const logs = own.flatMap((pod) => logsOf(pod).map((log) => () => this.#log(pod.metadata.name, log)));
    await inTurns(logs, atOnce);
  }

  async #log(pod: string, { container, isPrevious }: Log): Promise<void> {
    const { namespace, logLines } = this.#options;
    const query = new URLSearchParams({
      container,
      timestamps: 'true',
      tailLines: String(logLines),
      limitBytes: String(logBytes),
      ...(isPrevious && { previous: 'true' }),
    });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${query.toString()}`;
    const what = `${isPrevious ? 'the previous log' : 'the log'} of ${pod}, container ${container}`;
    const text = await this.#try(what, () => this.#get(path));
    if (typeof text !== 'string' || text === '') return;
    // A path in an archive is shorter than the longest name of a pod.
    const folder = pod.length > longestFolder ? `${pod.slice(0, longestFolder)}~${digestName(pod)}` : pod;
    this.#add(`logs/${folder}/${container}${isPrevious ? '.previous' : ''}.log`, text);
  }

  #get(path: string): Promise<unknown> {
    const { client, timeoutMs, signal } = this.#options;
    return client.request('GET', path, undefined, { timeoutMs, signal });
  }

  #list(
    resource: Resource,
    scope: { readonly namespace?: string; readonly labelSelector?: string } = {},
  ): Promise<readonly RawObject[] | undefined> {
    const { client, timeoutMs, signal } = this.#options;
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    return this.#try(resource.plural, () => client.list(resource, { ...scope, signal: until }));
  }

  /** Notes why the cluster refuses or does not answer; a kind that it does not serve is nothing to note. */
  async #try<T>(what: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.#options.signal.throwIfAborted();
      const isLate = error instanceof DOMException && error.name === 'TimeoutError';
      if (!(error instanceof KubeApiError || error instanceof KubeUnreachable || isLate)) throw error;
      if (!(error instanceof KubeApiError && error.status === 404))
        this.#unread.push(`${what}: ${isLate ? 'no answer in time (--timeout)' : error.message}`);
      return undefined;
    }
  }

  #addObjects(path: string, objects: readonly object[]): void {
    this.#add(path, objects.map((one) => `---\n${stringify(one)}`).join(''));
  }

  #add(path: string, text: string): void {
    this.#files.push({ path, text: redactText(text) });
  }
}

interface Log {
  readonly container: string;
  readonly isPrevious: boolean;
}

/** The logs that the kubelet has: of containers that ran, and of their former runs. */
function logsOf(pod: RawObject): readonly Log[] {
  interface Status {
    readonly name: string;
    readonly state?: { readonly running?: object; readonly terminated?: object };
    readonly lastState?: { readonly terminated?: object };
  }
  const { containerStatuses = [], initContainerStatuses = [] } = (pod['status'] ?? {}) as {
    containerStatuses?: readonly Status[];
    initContainerStatuses?: readonly Status[];
  };
  return [...initContainerStatuses, ...containerStatuses].flatMap(({ name: container, state, lastState }) => [
    ...(state?.running !== undefined || state?.terminated !== undefined ? [{ container, isPrevious: false }] : []),
    ...(lastState?.terminated !== undefined ? [{ container, isPrevious: true }] : []),
  ]);
}

/** Runs the tasks, at most `count` at a time. */
async function inTurns(tasks: readonly (() => Promise<void>)[], count: number): Promise<void> {
  const waiting = [...tasks];
  const work = async (): Promise<void> => {
    for (let task; (task = waiting.shift()) !== undefined;) await task();
  };
  await Promise.all(Array.from({ length: count }, work));
}
