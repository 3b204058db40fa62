/**
 * The form of an exported Service: names, numbers and lengths that other clusters can use. In: an export as a member sent it.
 * Out: why it cannot be used. Pure. Whether its endpoints are the member's own is decided in `offered-exports.ts`.
 */
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import { parsePoolRange } from '../../../lib/services/load-balancer.ts';
import type { ExportChange } from '../../model/export-messages.ts';
import type { EndpointPort, ExportedEndpoint, ExportedPort, SharedClaim } from '../../model/exported-service.ts';
import { isLegible } from './legible.ts';

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const serviceLabel = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
const node = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const zone = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const protocols: ReadonlySet<string> = new Set(['TCP', 'UDP', 'SCTP']);
const types: ReadonlySet<string> = new Set(['ClusterSetIP', 'Headless']);
const families: ReadonlySet<number> = new Set([4, 6]);
const mostPorts = 100;
/** Characters of all labels, or of all annotations. */
const mostMetadata = 16 * 1024;
/** As many as a LoadBalancerPool may have, and the held addresses. */
const mostRanges = 258;
const mostClusters = 1024;
/** What the API server accepts. */
const longestAffinity = 86_400;
/** Of a date. */
const latestMs = 8.64e15;

export function isNamespace(name: string): boolean {
  return label.test(name);
}

/** Undefined if it can be used. */
export function refuseForm(change: ExportChange): string | undefined {
  const { namespace, name, ports, labels, annotations } = change;
  if (!isNamespace(namespace) || !serviceLabel.test(name)) return 'its namespace or name is not that of a Service';
  if (!types.has(change.type)) return `its type is neither ${[...types].join(' nor ')}`;
  if (!Number.isSafeInteger(change.createdMs)) return 'its time of creation is no number of milliseconds';
  if (ports.length > mostPorts) return `it has ${ports.length} ports; at most ${mostPorts} are allowed`;
  const port = ports.find((one) => !isPort(one) || !isLegible(one.appProtocol));
  if (port !== undefined)
    return `port ${port.port} with protocol ${port.protocol} and name "${port.name}" is not one of a Service`;
  if (change.affinitySeconds > longestAffinity) return `session affinity lasts ${longestAffinity} seconds at most`;
  if (!areFamilies(change.ipFamilies)) return 'its IP families are not 4, 6 or both, each once';
  if (!isLegible(change.trafficDistribution)) return 'its trafficDistribution is too long or cannot be read';
  for (const [what, map] of [
    ['labels', labels],
    ['annotations', annotations],
  ] as const)
    if (!isMetadata(map)) return `its ${what} have more than ${mostMetadata} characters, or cannot be read`;
  return refuseClaim(change.shared) ?? refuseEndpoints(change.endpoints);
}

function refuseClaim(claim: SharedClaim | null | undefined): string | undefined {
  if (claim === null || claim === undefined) return undefined;
  const { pool, ranges, clusters, requested, held, sinceMs } = claim;
  const areRanges = ranges.length <= mostRanges && ranges.every((text) => text.length <= 100 && parsePoolRange(text));
  const areAddresses = [requested, held].every((list) => areOfFamilies(list));
  const areClusters = clusters.length <= mostClusters && clusters.every((name) => label.test(name));
  if (areRanges && areAddresses && areClusters && isLegible(pool) && isTime(sinceMs)) return undefined;
  return 'the shared address that it claims is of a pool that cannot be read, or of too many ranges or clusters';
}

/** Other members write it as a date. */
function isTime(ms: number): boolean {
  return Number.isSafeInteger(ms) && ms >= 0 && ms <= latestMs;
}

/** One address of each family at most. */
function areOfFamilies(texts: readonly string[]): boolean {
  const ips = texts.flatMap((text) => (text.length <= 45 ? (parseIp(text) ?? []) : []));
  return ips.length === texts.length && areFamilies(ips.map(({ family }) => family));
}

function refuseEndpoints(endpoints: readonly ExportedEndpoint[]): string | undefined {
  const wrong = endpoints.find((one) => !isEndpoint(one));
  return wrong === undefined
    ? undefined
    : `its endpoint "${wrong.address}" has an address, a name or a port that is not one`;
}

function isEndpoint({ address, hostname, zone: zoneName, node: nodeName, ports }: ExportedEndpoint): boolean {
  if (address.length > 45 || ports.length > mostPorts || !ports.every(isPort)) return false;
  const ip = parseIp(address);
  if (ip === undefined || formatIp(ip) !== address) return false;
  return isEmptyOr(label, hostname) && isEmptyOr(zone, zoneName) && isEmptyOr(node, nodeName);
}

function isPort({ name, protocol, port }: EndpointPort | ExportedPort): boolean {
  return isEmptyOr(label, name) && protocols.has(protocol) && port >= 1 && port <= 65_535;
}

function areFamilies(given: readonly number[]): boolean {
  if (given.length > families.size) return false;
  return new Set(given).size === given.length && given.every((family) => families.has(family));
}

function isEmptyOr(form: RegExp, text: string): boolean {
  return text === '' || form.test(text);
}

/** Values may have several lines. */
function isMetadata(map: Readonly<Record<string, string>>): boolean {
  let length = 0;
  for (const [key, value] of Object.entries(map)) {
    length += key.length + value.length;
    if (!isLegible(key) || !value.isWellFormed() || value.includes('\0')) return false;
  }
  return length <= mostMetadata;
}
