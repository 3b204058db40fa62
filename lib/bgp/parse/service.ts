import type { RawObject } from '../../kube/types.ts';
import type { EndpointSlice, Service } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

interface RawService {
  readonly type?: string;
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly externalIPs?: readonly string[];
  readonly externalTrafficPolicy?: string;
  readonly internalTrafficPolicy?: string;
}

/** Its endpoints are the API servers. */
export const apiService = 'default/kubernetes';

export function parseService(raw: RawObject): Service {
  const spec = (raw['spec'] ?? {}) as RawService;
  const { loadBalancer } = (raw['status'] ?? {}) as {
    loadBalancer?: { ingress?: readonly { ip?: string; ipMode?: string }[] };
  };
  const ingress = (loadBalancer?.ingress ?? []).filter(({ ipMode }) => ipMode !== 'Proxy');
  return {
    namespace: raw.metadata.namespace ?? '',
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    labels: raw.metadata.labels ?? {},
    type: spec.type ?? 'ClusterIP',
    clusterIps: addresses(spec.clusterIPs ?? [spec.clusterIP ?? '']),
    externalIps: addresses(spec.externalIPs ?? []),
    loadBalancerIps: addresses(ingress.map(({ ip = '' }) => ip)),
    isExternalPolicyLocal: spec.externalTrafficPolicy === 'Local',
    isInternalPolicyLocal: spec.internalTrafficPolicy === 'Local',
    annotation: parseBgpAnnotation(raw.metadata.annotations),
  };
}

/** A headless service has `None` for an address. */
function addresses(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => canonicalIp(text) ?? []))];
}

interface RawEndpoint {
  readonly addresses?: readonly string[];
  readonly nodeName?: string;
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
}

export function parseEndpointSlice(raw: RawObject): EndpointSlice {
  const name = raw.metadata.labels?.['kubernetes.io/service-name'];
  const service = name === undefined ? '' : `${raw.metadata.namespace ?? ''}/${name}`;
  const endpoints = (raw['endpoints'] ?? []) as readonly RawEndpoint[];
  return {
    service,
    ...(service === apiService && { apiServers: endpoints.flatMap((endpoint) => endpoint.addresses ?? []) }),
    endpoints: endpoints.map(({ nodeName = '', conditions = {} }) => ({
      node: nodeName,
      // Absent means ready (EndpointSlice v1).
      isReady: conditions.ready !== false,
      isServing: conditions.serving ?? conditions.ready !== false,
    })),
  };
}
