import { fieldsOf, recordsOf, textOf, textsOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import { parseIp } from '../../net/ip.ts';
import { endpointsElsewhere } from '../../services/elsewhere.ts';
import { isGiven } from '../../services/load-balancer.ts';
import { parseService as parseWhole } from '../../services/parse.ts';
import type { EndpointSlice, Service } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';

/** Its endpoints are the API servers. */
export const apiService = 'default/kubernetes';

/** The entries of all programs: an address is announced independently of the program that allocated it. */
export function parseService(raw: RawObject): Service {
  const service = parseWhole(raw);
  const { namespace, name, uid, labels, type, clusterIps, externalIps, loadBalancerIps } = service;
  const { isExternalPolicyLocal, isInternalPolicyLocal } = service;
  const givenIps = loadBalancerIps.filter((text) => {
    const ip = parseIp(text);
    return ip !== undefined && isGiven(service, ip);
  });
  const addresses = { clusterIps, externalIps, loadBalancerIps, givenIps };
  const policies = { isExternalPolicyLocal, isInternalPolicyLocal };
  const annotation = parseBgpAnnotation(raw.metadata.annotations);
  const isElsewhere = endpointsElsewhere(service) === 'all';
  return { namespace, name, uid, labels, type, ...addresses, ...policies, isElsewhere, annotation };
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
