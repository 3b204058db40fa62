/** The interfaces that a pod requests: the default one, and one for each attachment to a network of Isthmus. */
import { annotation, interfaceAnnotation, podPortName } from '../../lib/api/names.ts';
import type { Attachment, Pod } from './objects.ts';

export interface Interface {
  /** `ovn`, or `<attachment>.<namespace>.ovn`. */
  readonly provider: string;
  /** Name in the pod, if an attachment is requested more than once. */
  readonly name?: string;
  readonly isDefault: boolean;
  /** Addresses and MAC address that the attachment's selection requests. */
  readonly ips?: readonly string[];
  readonly mac?: string;
}

/** The interface of objects that have only one. */
export const defaultInterface: Interface = { provider: 'ovn', isDefault: true };

interface Selection {
  readonly name: string;
  readonly namespace: string;
  readonly interface?: string;
  readonly ips?: readonly string[];
  readonly mac?: string;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((part) => typeof part === 'string');
}

function selectionOf(value: unknown, namespace: string): Selection | undefined {
  if (typeof value !== 'object' || value === null || !('name' in value) || typeof value.name !== 'string')
    return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  const { namespace: other, interface: name, ips, mac } = fields;
  return {
    name: value.name,
    namespace: typeof other === 'string' && other !== '' ? other : namespace,
    ...(typeof name === 'string' && name !== '' ? { interface: name } : {}),
    ...(isTexts(ips) ? { ips } : {}),
    ...(typeof mac === 'string' && mac !== '' ? { mac } : {}),
  };
}

/** `namespace/name@interface`; namespace and interface may be absent. */
function shortSelection(text: string, namespace: string): Selection {
  const [path = '', name] = text.trim().split('@', 2);
  const slash = path.indexOf('/');
  return {
    name: path.slice(slash + 1),
    namespace: slash < 0 ? namespace : path.slice(0, slash),
    ...(name === undefined || name === '' ? {} : { interface: name }),
  };
}

/** Parses a list of networks; undefined if it is invalid. */
function selectionsOf(text: string, namespace: string): readonly Selection[] | undefined {
  if (!text.trimStart().startsWith('[')) {
    return text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map((part) => shortSelection(part, namespace));
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!Array.isArray(parsed)) return undefined;
  const selections = parsed.map((one) => selectionOf(one, namespace));
  return selections.every((one) => one !== undefined) ? selections : undefined;
}

function attached(
  selection: Selection,
  attachments: ReadonlyMap<string, Attachment>,
): { readonly provider: string; readonly selection: Selection } | undefined {
  const provider = attachments.get(`${selection.namespace}/${selection.name}`)?.provider;
  return provider === undefined ? undefined : { provider, selection };
}

/**
 * Interfaces of a pod, the default one first. Networks of other plug-ins are left to them. Undefined if the
 * annotation that selects networks is invalid.
 */
export function interfacesOf(pod: Pod, attachments: ReadonlyMap<string, Attachment>): readonly Interface[] | undefined {
  const { [annotation.networks]: networks = '', [annotation.defaultNetwork]: defaultNetwork = '' } = pod.annotations;
  const selections = selectionsOf(networks, pod.namespace);
  const first = selectionsOf(defaultNetwork, pod.namespace);
  if (selections === undefined || first === undefined) return undefined;
  const ours = selections.flatMap((selection) => attached(selection, attachments) ?? []);
  const provider = first.map((selection) => attached(selection, attachments)?.provider)[0] ?? 'ovn';
  const others = ours.map(({ provider: of, selection }): Interface => {
    const isRepeated = ours.filter((other) => other.provider === of).length > 1 || of === provider;
    return {
      provider: of,
      isDefault: false,
      ...(isRepeated ? { name: selection.interface ?? `net${selections.indexOf(selection) + 1}` } : {}),
      ...(selection.ips === undefined ? {} : { ips: selection.ips }),
      ...(selection.mac === undefined ? {} : { mac: selection.mac }),
    };
  });
  return [provider === defaultInterface.provider ? defaultInterface : { provider, isDefault: true }, ...others];
}

/** Whether the pod needs ports in this network now. */
export function wantsNetwork(pod: Pod): boolean {
  return !pod.isHostNetwork && !pod.isFinished && pod.node !== undefined;
}

/** The KubeVirt virtual machine that a pod runs. Its ports are named after the machine and outlive the pod. */
export function machineOf(pod: Pod): string | undefined {
  return pod.owner?.kind === 'VirtualMachineInstance' ? pod.owner.name : undefined;
}

/** `web.default`, `web.default.net1.default.ovn`, followed by the interface's name if it has one. */
export function portName(pod: Pod, { provider, name }: Interface): string {
  const base = podPortName(pod.namespace, machineOf(pod) ?? pod.name);
  const network = provider === 'ovn' ? base : `${base}.${provider}`;
  return name === undefined ? network : `${network}.${name}`;
}

/** Prefix of an interface's annotations: `ovn`, `net1.default.ovn`, or the latter followed by the interface's name. */
export function annotationPrefix({ provider, name }: Interface): string {
  return name === undefined ? provider : `${provider}.${name}`;
}

/** Prefix of annotations that are named after the default interface. */
const prefix = interfaceAnnotation(defaultInterface.provider, '');

/** The annotation of one interface: for `ip_address`, `ovn.kubernetes.io/ip_address` of the default one. */
export function annotationOf(network: Interface, key: string): string {
  const isOwnName =
    network.provider === defaultInterface.provider && network.name === undefined && key.startsWith(prefix);
  return isOwnName ? key : interfaceAnnotation(annotationPrefix(network), key);
}

/** The value of a pod's annotation for one interface; empty if absent. `key` is the annotation's name for the default interface. */
export function annotationValue(pod: Pod, network: Interface, key: string): string {
  return pod.annotations[annotationOf(network, key)] ?? '';
}

/** The members of a comma list. */
export function listOf(text: string): readonly string[] {
  if (text === '') return [];
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
