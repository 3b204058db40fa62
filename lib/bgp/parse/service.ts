import { fieldsOf, recordsOf, textOf, textsOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import type { EndpointSlice, Service } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

/** Its endpoints are the API servers. */
export const apiService = 'default/kubernetes';

export function parseService(raw: RawObject): Service {
  const spec = fieldsOf(raw['spec']);
  const loadBalancer = fieldsOf(fieldsOf(raw['status'])['loadBalancer']);
  const ingress = recordsOf(loadBalancer['ingress']).filter(({ ipMode }) => ipMode !== 'Proxy');
  return {
    namespace: raw.metadata.namespace ?? '',
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    labels: raw.metadata.labels ?? {},
    type: textOf(spec['type']) || 'ClusterIP',
    clusterIps: addresses(textsOf(spec['clusterIPs'] ?? [spec['clusterIP']])),
    externalIps: addresses(textsOf(spec['externalIPs'])),
    loadBalancerIps: addresses(ingress.map(({ ip }) => textOf(ip))),
    isExternalPolicyLocal: spec['externalTrafficPolicy'] === 'Local',
    isInternalPolicyLocal: spec['internalTrafficPolicy'] === 'Local',
    annotation: parseBgpAnnotation(raw.metadata.annotations),
  };
}

/** A headless service has `None` for an address. */
function addresses(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => canonicalIp(text) ?? []))];
}

export function parseEndpointSlice(raw: RawObject): EndpointSlice {
  const name = raw.metadata.labels?.['kubernetes.io/service-name'];
  const service = name === undefined ? '' : `${raw.metadata.namespace ?? ''}/${name}`;
  const endpoints = recordsOf(raw['endpoints']);
  return {
    service,
    ...(service === apiService && { apiServers: endpoints.flatMap((endpoint) => textsOf(endpoint['addresses'])) }),
    endpoints: endpoints.map(({ nodeName, conditions }) => {
      const { ready, serving = ready } = fieldsOf(conditions);
      // Absent means ready (EndpointSlice v1).
      return { node: textOf(nodeName), isReady: ready !== false, isServing: serving !== false };
    }),
  };
}
