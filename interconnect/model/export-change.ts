/**
 * Changes of an exported Service: one endpoint of a thousand is sent alone. In: the Service before and after. Out: the change, and
 * from the change the Service again. Pure. The key of endpoints is their address, which several may have.
 */
import type { ExportChange } from './export-messages.ts';
import type { ExportedEndpoint, ExportedService, SharedClaim } from './exported-service.ts';

export function exportKey({ namespace, name }: Pick<ExportedService, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** Undefined if nothing has changed. Without `before`, or if that is shorter, the change is the whole Service. */
export function changeOf(before: ExportedService | undefined, after: ExportedService): ExportChange | undefined {
  if (before === after) return undefined;
  const whole: ExportChange = { ...after, isWhole: true, removedAddresses: [] };
  if (before === undefined) return whole;
  const [old, now] = [byAddress(before.endpoints), byAddress(after.endpoints)];
  const endpoints: ExportedEndpoint[] = [];
  for (const [address, group] of now) if (!isSame(old.get(address), group)) endpoints.push(...group);
  const removedAddresses = [...old.keys()].filter((address) => !now.has(address));
  if (endpoints.length + removedAddresses.length === 0 && headText(before) === headText(after)) return undefined;
  if (endpoints.length + removedAddresses.length > after.endpoints.length / 2) return whole;
  return { ...after, isWhole: false, endpoints, removedAddresses };
}

/** The Service after the change, with its endpoints in the order of their addresses; undefined if the change is not whole and `before` is absent. */
export function changed(before: ExportedService | undefined, change: ExportChange): ExportedService | undefined {
  const { isWhole, removedAddresses, shared, ...rest } = change;
  const after = shared ? { ...rest, shared } : rest;
  if (isWhole) return { ...after, endpoints: sorted(change.endpoints) };
  if (before === undefined) return undefined;
  if (removedAddresses.length === 0 && change.endpoints.length === 0) return { ...after, endpoints: before.endpoints };
  const gone = new Set([...removedAddresses, ...change.endpoints.map(({ address }) => address)]);
  const kept = before.endpoints.filter(({ address }) => !gone.has(address));
  return { ...after, endpoints: sorted([...kept, ...change.endpoints]) };
}

/** The order of several endpoints of one address stays. */
function sorted(endpoints: readonly ExportedEndpoint[]): readonly ExportedEndpoint[] {
  return endpoints.toSorted((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0));
}

function byAddress(endpoints: readonly ExportedEndpoint[]): ReadonlyMap<string, readonly ExportedEndpoint[]> {
  return Map.groupBy(endpoints, ({ address }) => address);
}

function isSame(a: readonly ExportedEndpoint[] | undefined, b: readonly ExportedEndpoint[]): boolean {
  if (a?.length !== b.length) return false;
  return a.every((endpoint, at) => endpoint === b[at] || endpointText(endpoint) === endpointText(b[at]));
}

/** Independent of the order in which an object has its fields. */
function endpointText(endpoint: ExportedEndpoint | undefined): string {
  if (endpoint === undefined) return '';
  const { address, hostname, zone, node, isReady, isServingWhileTerminating, ports } = endpoint;
  const portTexts = ports.map(({ name, protocol, port }) => [name, protocol, port]);
  return JSON.stringify([address, hostname, zone, node, isReady, isServingWhileTerminating, portTexts]);
}

function headText(service: ExportedService): string {
  const { createdMs, type, affinitySeconds, isInternalPolicyLocal, trafficDistribution, ipFamilies } = service;
  const ports = service.ports.map(({ name, protocol, port, appProtocol }) => [name, protocol, port, appProtocol]);
  const texts = [service.labels, service.annotations].map((map) =>
    Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const rest = [createdMs, type, affinitySeconds, isInternalPolicyLocal, trafficDistribution];
  return JSON.stringify([rest, ipFamilies, ports, texts, claimText(service.shared)]);
}

/** Independent of the order in which an object has its fields. */
export function claimText(claim: SharedClaim | null | undefined): string {
  if (claim === null || claim === undefined) return '';
  const { pool, ranges, clusters, requested, held, sinceMs } = claim;
  return JSON.stringify([pool, ranges, clusters, requested, held, sinceMs]);
}
