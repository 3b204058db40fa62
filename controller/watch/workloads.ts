/**
 * Parses raw Kubernetes objects to the values of `model/objects.ts`. Called by the reflectors for every object; must not throw on
 * any content that a user can write. Here: pods, nodes, namespaces, and the owners and attachments of pods.
 */
import { annotation, nodeAnnotations } from '../../lib/api/names.ts';
import { addressConditionOf, outsideConditions, podConditionOf } from '../../lib/api/pod-addresses.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Attachment, Namespace, Node, OwnerRef, Pod, StatefulSet, VirtualMachine } from '../model/objects.ts';
import { fieldsOf, numberOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import { factsOf, namesSet, pick } from './fields.ts';
import { sharedNamedPorts } from './network-policies.ts';
import { shared, sharedRecord } from './shared.ts';
import { unsupportedPodAnnotations } from './unsupported.ts';

/** Annotations of the default interface and of attachments (`net1.default.ovn.kubernetes.io/…`), and requests for an attachment by name. */
const podAnnotation =
  /^(?:[^/]+\.)?ovn(?:\.[^/]+)?\.kubernetes\.io\/|\.kubernetes\.io\/(?:ip|mac)_address\.|^(?:k8s\.v1\.cni\.cncf\.io\/networks|v1\.multus-cni\.io\/default-network)$|^isthmus\.network\//;

const readFromNodes = [
  ...nodeAnnotations,
  annotation.ingressRate,
  annotation.egressRate,
  annotation.ingressBurst,
  annotation.egressBurst,
];
/** The daemon's annotations about provider networks. */
const networkAnnotation = /\.provider-network\.kubernetes\.io\/(?:plan|err_mesg)$/;
const namespaceAnnotations = [
  annotation.logicalSwitch,
  annotation.cidr,
  annotation.excludeIps,
  'ovn.kubernetes.io/ip_pool',
];

/** Types of CNI plugins whose configuration names a provider of Isthmus. */
const pluginTypes = ['kube-ovn', 'isthmus', 'isthmus-cni'];

function controllerOf(raw: RawObject): OwnerRef | undefined {
  const refs = recordsOf(fieldsOf(raw.metadata)['ownerReferences']);
  const ref = refs.find(({ controller }) => controller === true);
  return ref && { kind: textOf(ref['kind']), name: textOf(ref['name']), uid: textOf(ref['uid']) };
}

const noConditions: Pod['outsideConditions'] = {};

function outsideConditionsOf(status: unknown): Pod['outsideConditions'] {
  const [eip, snat] = [podConditionOf(status, outsideConditions.eip), podConditionOf(status, outsideConditions.snat)];
  if (eip === undefined && snat === undefined) return noConditions;
  return { ...(eip && { eip }), ...(snat && { snat }) };
}

export function parsePod(raw: RawObject): Pod {
  const spec = fieldsOf(raw['spec']);
  const phase = textOf(fieldsOf(raw['status'])['phase']);
  const all = raw.metadata.annotations ?? {};
  const { name, uid, resourceVersion, createdMs, isDeleting } = factsOf(raw);
  // Without a spread: V8 would keep the fields that follow it in a second object, for each of ten thousand pods.
  return {
    name,
    uid,
    resourceVersion,
    createdMs,
    isDeleting,
    namespace: shared(raw.metadata.namespace ?? ''),
    node: shared(textOf(spec['nodeName'])) || undefined,
    isHostNetwork: spec['hostNetwork'] === true,
    isFinished: phase === 'Succeeded' || phase === 'Failed',
    owner: controllerOf(raw),
    labels: sharedRecord(raw.metadata.labels),
    annotations: pick(
      all,
      Object.keys(all).filter((key) => podAnnotation.test(key)),
    ),
    addressCondition: addressConditionOf(raw['status']),
    outsideConditions: outsideConditionsOf(raw['status']),
    namedPorts: sharedNamedPorts(spec),
    unsupported: namesSet(all, unsupportedPodAnnotations),
  };
}

export function parseNode(raw: RawObject): Node {
  const status = fieldsOf(raw['status']);
  const addresses = (type: string): readonly string[] =>
    recordsOf(status['addresses'])
      .filter((address) => address['type'] === type)
      .map((address) => textOf(address['address']));
  const conditions = recordsOf(status['conditions']);
  const has = (type: string, value: string): boolean =>
    conditions.some((condition) => condition['type'] === type && condition['status'] === value);
  const ofNetworks = Object.keys(raw.metadata.annotations ?? {}).filter((key) => networkAnnotation.test(key));
  return {
    ...factsOf(raw),
    addresses: addresses('InternalIP'),
    externalAddresses: addresses('ExternalIP'),
    labels: raw.metadata.labels ?? {},
    annotations: pick(raw.metadata.annotations, [...readFromNodes, ...ofNetworks]),
    isReady: has('Ready', 'True') && !has('NetworkUnavailable', 'True'),
    isCordoned: fieldsOf(raw['spec'])['unschedulable'] === true,
  };
}

export function parseNamespace(raw: RawObject): Namespace {
  const { labels, annotations } = raw.metadata;
  return { ...factsOf(raw), labels: labels ?? {}, annotations: pick(annotations, namespaceAnnotations) };
}

export function parseStatefulSet(raw: RawObject): StatefulSet {
  const spec = fieldsOf(raw['spec']);
  return {
    ...factsOf(raw),
    namespace: raw.metadata.namespace ?? '',
    replicas: typeof spec['replicas'] === 'number' ? spec['replicas'] : 1,
    start: numberOf(fieldsOf(spec['ordinals'])['start']),
  };
}

export function parseVirtualMachine(raw: RawObject): VirtualMachine {
  return { ...factsOf(raw), namespace: raw.metadata.namespace ?? '' };
}

export function parseAttachment(raw: RawObject): Attachment {
  const namespace = raw.metadata.namespace ?? '';
  return { ...factsOf(raw), namespace, provider: providerOf(textOf(fieldsOf(raw['spec'])['config'])) };
}

/** The provider that a CNI configuration, or one of the plug-ins of its list, names. */
function providerOf(config: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(config);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const plugins = [fieldsOf(parsed), ...recordsOf(fieldsOf(parsed)['plugins'])];
  const own = plugins.find((plugin) => pluginTypes.includes(textOf(plugin['type'])));
  return textOf(own?.['provider']) || undefined;
}
