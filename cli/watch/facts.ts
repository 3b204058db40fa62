/**
 * Reads a cluster that need not have Isthmus. In: a client. Out: ClusterFacts. Objects that the user may not read and kinds that are not served
 * become part of the value; an API server that does not answer is an error.
 * @throws KubeUnreachable, KubeConfigError, KubeApiError if the user is not authenticated
 */
import { KubeApiError } from '../../lib/kube/errors.ts';
import {
  customResourceDefinitions,
  daemonSets,
  deployments,
  endpointSlices,
  nodes,
  pods,
  serviceCidrs,
  services,
  statefulSets,
  storageClasses,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import type { ClusterFacts, ServiceRanges } from '../model/cluster-facts.ts';
import type { Unreadable } from '../model/snapshot.ts';
import * as parse from './fact-objects.ts';

export interface FactOptions {
  readonly client: Pick<KubeClient, 'list' | 'request'>;
  /** Namespace in which Isthmus is to be installed. */
  readonly namespace: string;
  readonly label: string;
  readonly signal: AbortSignal;
}

interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
}

export async function readFacts(options: FactOptions): Promise<ClusterFacts> {
  const { client, signal, label, namespace } = options;
  // First and alone: it requires no permission, so a failure here means that the cluster cannot be reached.
  const version = parse.parseVersion(await client.request('GET', '/version', undefined, { signal }));
  const reader = new FactReader(options);
  const [machines, holders, daemons, deployed, stateful, definitions, classes] = await Promise.all([
    reader.list(nodes),
    reader.list(pods),
    reader.list(daemonSets),
    reader.list(deployments),
    reader.list(statefulSets),
    reader.list(customResourceDefinitions),
    reader.list(storageClasses),
  ]);
  const [ranges, allServices, slices, hasAdmissionPolicies] = await Promise.all([
    reader.list(serviceCidrs),
    reader.list(services),
    reader.list(endpointSlices, { namespace: 'default', labelSelector: 'kubernetes.io/service-name=kubernetes' }),
    reader.hasAdmissionPolicies(),
  ]);
  const controllers = [
    ...(daemons ?? []).map((raw) => parse.parseController('DaemonSet', raw)),
    ...(deployed ?? []).map((raw) => parse.parseController('Deployment', raw)),
    ...(stateful ?? []).map((raw) => parse.parseController('StatefulSet', raw)),
  ];
  return {
    label,
    namespace,
    version,
    machines: machines?.map(parse.parseMachine),
    portHolders: holders?.flatMap(parse.parsePortHolder),
    controllers: daemons === undefined || deployed === undefined || stateful === undefined ? undefined : controllers,
    definitions: definitions?.map(parse.parseDefinition),
    storageClasses: classes?.map(parse.parseStorageClass),
    serviceRanges: ranges && rangesOf(ranges),
    serviceAddresses: allServices?.flatMap(parse.parseServiceAddresses),
    serverAddresses: slices?.flatMap(parse.parseEndpointAddresses),
    hasAdmissionPolicies,
    looks: undefined,
    unreadable: reader.unreadable,
  };
}

function rangesOf(raw: readonly RawObject[]): ServiceRanges {
  const cidrs = raw.flatMap(parse.parseServiceRange);
  return { cidrs, isKnown: cidrs.length > 0 };
}

class FactReader {
  readonly unreadable: Unreadable[] = [];
  readonly #options: FactOptions;

  constructor(options: FactOptions) {
    this.#options = options;
  }

  /** Objects in the order of their names. Undefined if reading is forbidden; a kind that is not served has no objects. */
  async list(resource: Resource, selection: Selection = {}): Promise<readonly RawObject[] | undefined> {
    const { client, signal } = this.#options;
    const keyOf = ({ metadata }: RawObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
    try {
      const all = await client.list(resource, { ...selection, signal });
      return all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    } catch (error) {
      if (isStatus(error, 404)) return [];
      if (!isStatus(error, 403)) throw error;
      this.#forbidden(resource.plural, error);
      return undefined;
    }
  }

  async hasAdmissionPolicies(): Promise<boolean | undefined> {
    const { client, signal } = this.#options;
    try {
      const answer = await client.request('GET', '/apis/admissionregistration.k8s.io/v1', undefined, { signal });
      return parse.parseServedKinds(answer).includes('ValidatingAdmissionPolicy');
    } catch (error) {
      if (isStatus(error, 404)) return false;
      if (!isStatus(error, 403)) throw error;
      this.#forbidden('/apis/admissionregistration.k8s.io/v1', error);
      return undefined;
    }
  }

  #forbidden(what: string, { message }: KubeApiError): void {
    const sentence = `no permission to read ${what} (${message}); checks that need them are left out`;
    this.unreadable.push({ code: 'Forbidden', what, message: sentence });
  }
}

function isStatus(error: unknown, status: number): error is KubeApiError {
  return error instanceof KubeApiError && error.status === status;
}
