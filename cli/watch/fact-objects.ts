/** Parses objects of any cluster for `isthmus check`. An absent or unusual field counts as not set. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Controller, Definition, HostPort, Machine, PortHolder, StorageClass } from '../model/cluster-facts.ts';

const partOf = 'app.kubernetes.io/part-of';

export function isOfIsthmus({ metadata }: RawObject): boolean {
  return metadata.labels?.[partOf] === 'isthmus';
}

export function parseVersion(answer: unknown): string {
  const { gitVersion = '' } = (answer ?? {}) as { readonly gitVersion?: string };
  return gitVersion;
}

export function parseServedKinds(answer: unknown): readonly string[] {
  const { resources = [] } = (answer ?? {}) as { readonly resources?: readonly { readonly kind?: string }[] };
  return resources.flatMap(({ kind }) => kind ?? []);
}

interface NodeStatus {
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly allocatable?: { readonly pods?: string };
  readonly conditions?: readonly Condition[];
  readonly nodeInfo?: {
    readonly kubeletVersion?: string;
    readonly kernelVersion?: string;
    readonly containerRuntimeVersion?: string;
    readonly operatingSystem?: string;
    readonly architecture?: string;
  };
}

export function parseMachine(raw: RawObject): Machine {
  const { addresses = [], allocatable, conditions = [], nodeInfo = {} } = (raw['status'] ?? {}) as NodeStatus;
  const { podCIDRs = [] } = (raw['spec'] ?? {}) as { readonly podCIDRs?: readonly string[] };
  const maxPods = Number(allocatable?.pods);
  return {
    name: raw.metadata.name,
    labels: raw.metadata.labels ?? {},
    addresses: addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : [])),
    podCidrs: podCIDRs,
    maxPods: Number.isInteger(maxPods) ? maxPods : undefined,
    kubelet: nodeInfo.kubeletVersion ?? '',
    kernel: nodeInfo.kernelVersion ?? '',
    runtime: nodeInfo.containerRuntimeVersion ?? '',
    os: nodeInfo.operatingSystem ?? '',
    architecture: nodeInfo.architecture ?? '',
    conditions,
  };
}

interface ContainerPorts {
  readonly ports?: readonly {
    readonly containerPort?: number;
    readonly hostPort?: number;
    readonly protocol?: string;
  }[];
}

interface PodSpec {
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly containers?: readonly ContainerPorts[];
  readonly initContainers?: readonly ContainerPorts[];
}

/** Empty for a pod that has ended, is not scheduled, or declares no host port. */
export function parsePortHolder(raw: RawObject): readonly PortHolder[] {
  const { nodeName = '', hostNetwork = false, containers = [], initContainers = [] } = (raw['spec'] ?? {}) as PodSpec;
  const { phase } = (raw['status'] ?? {}) as { readonly phase?: string };
  const ports = [...containers, ...initContainers].flatMap(({ ports: declared = [] }) =>
    declared.flatMap(({ containerPort = 0, hostPort = 0, protocol = 'TCP' }): readonly HostPort[] => {
      const port = hostPort === 0 && hostNetwork ? containerPort : hostPort;
      return port === 0 ? [] : [{ protocol, port }];
    }),
  );
  if (nodeName === '' || phase === 'Succeeded' || phase === 'Failed' || ports.length === 0) return [];
  const { name, namespace = '' } = raw.metadata;
  return [{ namespace, name, node: nodeName, isOurs: isOfIsthmus(raw), ports }];
}

interface Templated {
  readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } };
}

interface Container {
  readonly image?: string;
  readonly args?: readonly string[];
}

const encapFlag = '--encap-type=';

export function parseController(kind: string, raw: RawObject): Controller {
  const { template } = (raw['spec'] ?? {}) as Templated;
  const args = (template?.spec?.containers ?? []).flatMap((container) => container.args ?? []);
  const encapType = args.find((arg) => arg.startsWith(encapFlag))?.slice(encapFlag.length);
  return {
    kind,
    namespace: raw.metadata.namespace ?? '',
    name: raw.metadata.name,
    images: (template?.spec?.containers ?? []).flatMap(({ image }) => image ?? []),
    isOurs: isOfIsthmus(raw),
    version: raw.metadata.labels?.['app.kubernetes.io/version'],
    ...(encapType === undefined ? {} : { encapType }),
  };
}

/** helm records the owner in annotations; our own files for `kubectl apply` have them too. */
export function parseDefinition(raw: RawObject): Definition {
  const { annotations = {}, name } = raw.metadata;
  const release = annotations['meta.helm.sh/release-name'];
  const namespace = annotations['meta.helm.sh/release-namespace'] ?? '';
  const { group = '' } = (raw['spec'] ?? {}) as { readonly group?: string };
  const isOurs = isOfIsthmus(raw) || release === 'isthmus';
  return { name, group, isOurs, release: release === undefined ? undefined : `${namespace}/${release}` };
}

export function parseStorageClass({ metadata }: RawObject): StorageClass {
  const { annotations = {}, name } = metadata;
  return { name, isDefault: annotations['storageclass.kubernetes.io/is-default-class'] === 'true' };
}

export function parseServiceRange(raw: RawObject): readonly string[] {
  return ((raw['spec'] ?? {}) as { readonly cidrs?: readonly string[] }).cidrs ?? [];
}

export function parseServiceAddresses(
  raw: RawObject,
): readonly { readonly service: string; readonly address: string }[] {
  const { clusterIPs = [] } = (raw['spec'] ?? {}) as { readonly clusterIPs?: readonly string[] };
  const service = `${raw.metadata.namespace ?? ''}/${raw.metadata.name}`;
  return clusterIPs.filter((address) => address !== 'None').map((address) => ({ service, address }));
}

export function parseEndpointAddresses(raw: RawObject): readonly string[] {
  const endpoints = (raw['endpoints'] ?? []) as readonly { readonly addresses?: readonly string[] }[];
  return endpoints.flatMap(({ addresses = [] }) => addresses);
}
