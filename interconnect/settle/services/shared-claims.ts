/**
 * What a Service of this cluster claims of a pool that clusters share. In: the Service, the pools, and the addresses that it has by an earlier
 * agreement. Out: the claim that is sent with its export. Pure. Only a Service that names the pool claims an address. One
 * that it has, it keeps while it names the pool, whatever becomes of the pool, as other addresses of load balancers.
 */
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { annotation } from '../../../lib/api/names.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import { loadBalancerClass, parseAddressRequest } from '../../../lib/services/load-balancer.ts';
import type { Service } from '../../../lib/services/service.ts';
import type { SharedClaim } from '../../model/exported-service.ts';
import type { SharedAddressObject, SharedPool } from '../../model/service-objects.ts';

export interface ClaimFacts {
  /** By name. */
  readonly poolOf: (name: string) => SharedPool | undefined;
  readonly labelsOf: (namespace: string) => Readonly<Record<string, string>>;
  /** Of the Service; undefined if it never had an answer. */
  readonly known: SharedAddressObject | undefined;
}

/** Undefined if the Service claims none. */
export function sharedClaimOf(service: Service, { poolOf, labelsOf, known }: ClaimFacts): SharedClaim | undefined {
  const { type, loadBalancerClass: ofClass = loadBalancerClass, annotations, namespace, labels } = service;
  if (type !== 'LoadBalancer' || ofClass !== loadBalancerClass) return undefined;
  const name = annotations[annotation.loadBalancerPool]?.trim() ?? '';
  const pool = poolOf(name);
  const isOffered =
    pool?.isOffered === true &&
    matchesSelector(pool.serviceSelector, labels) &&
    matchesSelector(pool.namespaceSelector, labelsOf(namespace));
  const held = known?.pool === name ? known.addresses : [];
  if (name === '' || (!isOffered && held.length === 0)) return undefined;
  const request = parseAddressRequest(service);
  const requested = typeof request === 'string' ? [] : [...request.addresses.values()].map(formatIp);
  return {
    pool: name,
    ranges: [...new Set([...(isOffered ? pool.ranges : []), ...held])],
    clusters: isOffered ? pool.clusters : [],
    requested,
    held,
    sinceMs: held.length === 0 ? 0 : (known?.sinceMs ?? 0),
  };
}
