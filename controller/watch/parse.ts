/**
 * The edge: raw Kubernetes objects in, the values of `state/objects.ts` out. Called by the reflectors for
 * every object they see; must not throw on anything a user can write.
 */
import { annotation } from '../../lib/api/names.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { parseCidr } from '../../lib/net/cidr.ts';
import type { IpObject, Namespace, Node, Pod, Subnet, TransitSwitch, Vpc } from '../state/objects.ts';
import { conditionsOf, factsOf, fieldsOf, namesSet, pick, textOf, textsOf } from './fields.ts';
import { unsupportedPodAnnotations, unsupportedSubnetFields, unsupportedVpcFields } from './unsupported.ts';

const ipFamily = 'ovn.kubernetes.io/ip_family';
const podAnnotations = [
  annotation.allocated,
  annotation.routed,
  annotation.ipAddress,
  annotation.macAddress,
  annotation.cidr,
  annotation.gateway,
  annotation.logicalSwitch,
  annotation.logicalRouter,
  annotation.podNicType,
  ipFamily,
];
const nodeAnnotations = [
  annotation.allocated,
  annotation.ipAddress,
  annotation.macAddress,
  annotation.cidr,
  annotation.gateway,
  annotation.logicalSwitch,
  annotation.portName,
];
const namespaceAnnotations = [annotation.logicalSwitch, annotation.cidr, annotation.excludeIps];

export function parsePod(raw: RawObject): Pod {
  const spec = fieldsOf(raw['spec']);
  const phase = textOf(fieldsOf(raw['status'])['phase']);
  return {
    ...factsOf(raw),
    namespace: raw.metadata.namespace ?? '',
    node: textOf(spec['nodeName']) || undefined,
    isHostNetwork: spec['hostNetwork'] === true,
    isFinished: phase === 'Succeeded' || phase === 'Failed',
    annotations: pick(raw.metadata.annotations, podAnnotations),
    unsupported: namesSet(raw.metadata.annotations ?? {}, unsupportedPodAnnotations),
  };
}

export function parseNode(raw: RawObject): Node {
  const addresses = fieldsOf(raw['status'])['addresses'];
  const internal = (Array.isArray(addresses) ? addresses : [])
    .map(fieldsOf)
    .filter((address) => address['type'] === 'InternalIP')
    .map((address) => textOf(address['address']));
  return { ...factsOf(raw), addresses: internal, annotations: pick(raw.metadata.annotations, nodeAnnotations) };
}

export function parseNamespace(raw: RawObject): Namespace {
  const { labels, annotations } = raw.metadata;
  return { ...factsOf(raw), labels: labels ?? {}, annotations: pick(annotations, namespaceAnnotations) };
}

export function parseSubnet(raw: RawObject): Subnet {
  const spec = fieldsOf(raw['spec']);
  const { conditions: _, ...status } = fieldsOf(raw['status']);
  const selectors = Array.isArray(spec['namespaceSelectors']) ? spec['namespaceSelectors'] : [];
  return {
    ...factsOf(raw),
    generation: raw.metadata.generation ?? 0,
    finalizers: raw.metadata.finalizers ?? [],
    spec: {
      isDefault: typeof spec['default'] === 'boolean' ? spec['default'] : undefined,
      vpc: textOf(spec['vpc']),
      protocol: textOf(spec['protocol']),
      provider: textOf(spec['provider']),
      namespaces: textsOf(spec['namespaces']),
      namespaceSelectors: selectors.map((selector) => fieldsOf(selector) as LabelSelector),
      cidrBlock: textOf(spec['cidrBlock']),
      gateway: textOf(spec['gateway']),
      excludeIps: textsOf(spec['excludeIps']),
      gatewayType: textOf(spec['gatewayType']),
    },
    unsupported: namesSet(spec, unsupportedSubnetFields),
    acceptedNote: raw.metadata.annotations?.[annotation.accepted],
    conditions: conditionsOf(fieldsOf(raw['status'])),
    status,
  };
}

export function parseVpc(raw: RawObject): Vpc {
  const spec = fieldsOf(raw['spec']);
  const { conditions: _, ...status } = fieldsOf(raw['status']);
  // A block that is there but switched off asks for nothing.
  const isBfdOff = fieldsOf(spec['bfdPort'])['enabled'] !== true;
  return {
    ...factsOf(raw),
    generation: raw.metadata.generation ?? 0,
    unsupported: namesSet(spec, unsupportedVpcFields).filter((name) => name !== 'bfdPort' || !isBfdOff),
    conditions: conditionsOf(fieldsOf(raw['status'])),
    status,
  };
}

export function parseIp(raw: RawObject): IpObject {
  const spec = fieldsOf(raw['spec']);
  return {
    ...factsOf(raw),
    labels: raw.metadata.labels ?? {},
    spec: {
      podName: textOf(spec['podName']),
      namespace: textOf(spec['namespace']),
      subnet: textOf(spec['subnet']),
      nodeName: textOf(spec['nodeName']),
      ipAddress: textOf(spec['ipAddress']),
      v4IpAddress: textOf(spec['v4IpAddress']),
      v6IpAddress: textOf(spec['v6IpAddress']),
      macAddress: textOf(spec['macAddress']),
    },
  };
}

export function parseTransitSwitch(raw: RawObject): TransitSwitch {
  const texts = textOf(fieldsOf(raw['status'])['cidr']).split(',');
  return { name: raw.metadata.name, cidrs: texts.flatMap((text) => parseCidr(text) ?? []) };
}
