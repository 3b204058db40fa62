/** Finds the UDP connections, and the records of clients, that lead to an endpoint that no longer serves. In: frontends whose endpoints changed. Pure. */
import { type Family, familyOf } from '../../../lib/net/ip.ts';
import { anyAddress } from '../../model/service-table.ts';
import { type Frontend, protocolNumber } from '../../model/service.ts';

/** Key of a frontend → endpoints that may serve its clients, as `address . port`. */
export type Served = ReadonlyMap<string, ReadonlySet<string>>;

export interface Flow {
  readonly family: Family;
  /** As the client sent it. */
  readonly original: { readonly destination: string; readonly destinationPort: number };
  /** As the answer comes. */
  readonly reply: { readonly source: string; readonly sourcePort: number };
}

/**
 * UDP frontends that lost an endpoint, or got their first one: earlier connections were not translated. If the former value is not known,
 * anything may have changed.
 */
export function changedFlows(before: Frontend | undefined, after: Frontend | undefined): Served {
  const frontend = after ?? before;
  if (frontend?.isUdp !== true) return new Map();
  const now = slotsOf(after);
  const was = slotsOf(before);
  const isUnchanged = before !== undefined && was.size > 0 && [...was].every((slot) => now.has(slot));
  return isUnchanged ? new Map() : new Map([[frontend.key, now]]);
}

/** Frontends with session affinity that lost an endpoint. Where external clients lost one that serves others, only those of their own list stay. */
export function changedClients(before: Frontend | undefined, after: Frontend | undefined): Served {
  const frontend = after ?? before;
  if (frontend?.affinitySeconds === undefined && before?.affinitySeconds === undefined) return new Map();
  if (frontend === undefined) return new Map();
  const isNarrowed = hasNarrowed(before, after);
  const now = isNarrowed ? new Set(after?.local) : slotsOf(after?.affinitySeconds === undefined ? undefined : after);
  const isUnchanged = before !== undefined && !isNarrowed && [...slotsOf(before)].every((slot) => now.has(slot));
  return isUnchanged ? new Map() : new Map([[frontend.key, now]]);
}

/** Whether records of external clients may lead to an endpoint that serves other clients alone. An empty list of their own uses no record. */
function hasNarrowed(before: Frontend | undefined, after: Frontend | undefined): boolean {
  const own = new Set(after?.local);
  if (after === undefined || own.size === 0) return false;
  const isKnown = before?.local !== undefined && before.local.length > 0;
  return !isKnown || before.local.some((slot) => !own.has(slot) && after.all.includes(slot));
}

/** @param nodeAddresses addresses with NodePorts */
export function isStaleFlow(
  { family, original, reply }: Flow,
  served: Served,
  nodeAddresses: ReadonlySet<string>,
): boolean {
  const rest = `${protocolNumber.UDP} . ${original.destinationPort}`;
  const { destination } = original;
  const atNode = nodeAddresses.has(destination) ? served.get(`${anyAddress[family]} . ${rest}`) : undefined;
  const endpoints = served.get(`${destination} . ${rest}`) ?? atNode;
  return endpoints !== undefined && !endpoints.has(`${reply.source} . ${reply.sourcePort}`);
}

/** @param client `source . address . protocol . port` */
export function isStaleClient(client: string, endpoint: string, served: Served): boolean {
  const [, address = '', protocol, port] = client.split(' . ');
  const [family, rest] = [familyOf(address), `${protocol} . ${port}`] as const;
  const endpoints = served.get(`${address} . ${rest}`) ?? served.get(`${anyAddress[family]} . ${rest}`);
  return endpoints !== undefined && !endpoints.has(endpoint);
}

function slotsOf(frontend: Frontend | undefined): ReadonlySet<string> {
  return new Set(frontend === undefined ? [] : [...frontend.all, ...(frontend.local ?? [])]);
}
