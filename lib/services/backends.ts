/**
 * The endpoints that serve a port of a Service, by the rules of Kubernetes: the ready endpoints, or if there are none, those that serve while
 * terminating. Traffic policy Local applies this rule to the endpoints of one node. Hints count only if every ready endpoint has some.
 * Pure. Results are sorted by address, so that equal endpoints give equal results.
 */
import type { Family } from '../net/ip.ts';
import type { Endpoint, EndpointSlice, ServicePort } from './service.ts';

/** An endpoint, with its target port for one port of the Service. */
export interface Backend extends Endpoint {
  readonly port: number;
}

/** The client's place. */
export interface Place {
  /** Name of the Node. */
  readonly node: string;
  /** Empty if unknown. */
  readonly zone: string;
}

/** All endpoints of a port, from all slices of its Service, each address and port once. */
export function backendsOf(slices: Iterable<EndpointSlice>, port: ServicePort, family: Family): readonly Backend[] {
  const backends = new Map<string, Backend>();
  for (const slice of slices) {
    if (slice.family !== family) continue;
    for (const { name, protocol, port: number } of slice.ports) {
      if (name !== port.name || protocol !== port.protocol) continue;
      for (const endpoint of slice.endpoints) {
        const key = backendKey(endpoint.address, number);
        const backend = { ...endpoint, port: number };
        const before = backends.get(key);
        if (before === undefined || isPreferred(backend, before)) backends.set(key, backend);
      }
    }
  }
  return [...backends].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, backend]) => backend);
}

/** `address:port`, with brackets around an IPv6 address. */
export function backendKey(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The backends for clients anywhere in the cluster. */
export function clusterBackends(backends: readonly Backend[]): readonly Backend[] {
  const ready = backends.filter(({ isReady }) => isReady);
  return ready.length > 0 ? ready : backends.filter((backend) => backend.isServingWhileTerminating);
}

/** The backends for clients of a node under traffic policy Local. */
export function localBackends(backends: readonly Backend[], node: string): readonly Backend[] {
  return clusterBackends(backends.filter((backend) => backend.node === node));
}

export type Topology = 'node' | 'zone';

/** Which hints choose the backends for clients at a place; undefined if hints choose none, and all backends serve. */
export function topologyAt(backends: readonly Backend[], { node, zone }: Place): Topology | undefined {
  const ready = backends.filter(({ isReady }) => isReady);
  if (ready.length === 0) return undefined;
  const isForNode = ready.every(({ nodeHints }) => nodeHints.length > 0);
  if (isForNode && ready.some(({ nodeHints }) => nodeHints.includes(node))) return 'node';
  const isForZone = zone !== '' && ready.every(({ zoneHints }) => zoneHints.length > 0);
  return isForZone && ready.some(({ zoneHints }) => zoneHints.includes(zone)) ? 'zone' : undefined;
}

/** Whether hints may choose different backends for clients at different places. */
export function hasTopology(backends: readonly Backend[]): boolean {
  const ready = backends.filter(({ isReady }) => isReady);
  return (
    ready.length > 0 &&
    (ready.every(({ nodeHints }) => nodeHints.length > 0) || ready.every(({ zoneHints }) => zoneHints.length > 0))
  );
}

/** The backends for clients at a place under traffic policy Cluster. */
export function backendsAt(backends: readonly Backend[], place: Place): readonly Backend[] {
  switch (topologyAt(backends, place)) {
    case 'node':
      return backends.filter(({ isReady, nodeHints }) => isReady && nodeHints.includes(place.node));
    case 'zone':
      return backends.filter(({ isReady, zoneHints }) => isReady && zoneHints.includes(place.zone));
    case undefined:
      return clusterBackends(backends);
  }
}

/**
 * While an endpoint moves from one slice to another, both have it: the better state is the newer one. Where they differ in anything else, the
 * choice must not depend on the order in which the slices came.
 */
function isPreferred(backend: Backend, before: Backend): boolean {
  const difference = rankOf(backend) - rankOf(before);
  return difference === 0 ? JSON.stringify(backend) < JSON.stringify(before) : difference > 0;
}

function rankOf({ isReady, isServingWhileTerminating }: Endpoint): number {
  return isReady ? 2 : Number(isServingWhileTerminating);
}
