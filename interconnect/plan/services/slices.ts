/**
 * The EndpointSlices of an import: for each cluster, what it exports. Pure. The slice that an endpoint is in follows from its address, so that a
 * change of one endpoint is a change of one slice, and the name of a slice from what it is for, so that a restart finds it again.
 */
import { familyOf, type Family } from '../../../lib/net/ip.ts';
import { digestOf } from '../../../lib/services/digest.ts';
import type { EndpointPort, ExportedEndpoint, ExportedPort } from '../../model/exported-service.ts';
import { keyOf, sliceLabel, slicesOfAgent, type SliceBody } from '../../model/service-objects.ts';
import type { ImportState } from '../../settle/services/imports.ts';

/** As many as Kubernetes puts in its own. */
const mostEndpoints = 100;
/** More halves than an address has bits cannot separate any more endpoints. */
const mostHalves = 24;

export interface SliceInput {
  readonly state: Pick<ImportState, 'merged'>;
  /** By cluster: what it exports, and of this cluster also what it does not share with others. */
  readonly exports: ImportState['exports'];
  /** Uid of the ServiceImport. */
  readonly owner: string;
  /** Whether pods of this cluster reach an endpoint now: only such an endpoint is ready. */
  readonly isReached: (cluster: string, address: string) => boolean;
}

/** By name. */
export function planImportSlices({ state, exports, owner, isReached }: SliceInput): ReadonlyMap<string, SliceBody> {
  const { merged } = state;
  const slices = new Map<string, SliceBody>();
  for (const [cluster, exported] of exports) {
    const appProtocols = new Map(exported.ports.map((port) => [portId(port), port.appProtocol]));
    for (const [id, endpoints] of groupsOf(exported.endpoints)) {
      const [first] = endpoints;
      if (first === undefined) continue;
      for (const [part, members] of partsOf(endpoints)) {
        const digest = digestOf(JSON.stringify([keyOf(merged), cluster, id, part]));
        slices.set(`${merged.name}-${cluster}-${digest.slice(0, 10)}`, {
          addressType: `IPv${familyOf(first.address)}`,
          labels: {
            [sliceLabel.managedBy]: slicesOfAgent,
            [sliceLabel.service]: merged.name,
            [sliceLabel.cluster]: cluster,
          },
          owner,
          ports: first.ports.map((port) => portOf(port, appProtocols.get(portId(port)) ?? '')),
          endpoints: members.map((endpoint) => endpointOf(endpoint, isReached(cluster, endpoint.address))),
        });
      }
    }
  }
  return slices;
}

/** A slice has endpoints of one family with the same ports. */
function groupsOf(endpoints: readonly ExportedEndpoint[]): ReadonlyMap<string, readonly ExportedEndpoint[]> {
  const groups = new Map<string, ExportedEndpoint[]>();
  for (const endpoint of endpoints) {
    const family: Family = familyOf(endpoint.address);
    const id = JSON.stringify([family, endpoint.ports.map((port) => `${portId(port)} ${port.port}`).sort()]);
    groups.set(id, [...(groups.get(id) ?? []), endpoint]);
  }
  return groups;
}

/** Halves a list by the bits of the digests of its addresses, until every part is small enough. */
function partsOf(endpoints: readonly ExportedEndpoint[]): readonly (readonly [string, readonly ExportedEndpoint[]])[] {
  const digested = endpoints
    .toSorted((a, b) => (a.address < b.address ? -1 : 1))
    .map((endpoint) => ({
      endpoint,
      digest: Number.parseInt(digestOf(endpoint.address).slice(0, 8), 16),
    }));
  for (let bits = 0; ; bits += 1) {
    const parts = Map.groupBy(digested, ({ digest }) => (bits === 0 ? 0 : digest >>> (32 - bits)));
    const isSmall = [...parts.values()].every((part) => part.length <= mostEndpoints);
    if (isSmall || bits === mostHalves)
      return [...parts].flatMap(([half, part]) =>
        chunksOf(part.map(({ endpoint }) => endpoint)).map(
          (chunk, index) => [`${bits}/${half}/${index}`, chunk] as const,
        ),
      );
  }
}

function chunksOf(endpoints: readonly ExportedEndpoint[]): readonly (readonly ExportedEndpoint[])[] {
  const chunks: (readonly ExportedEndpoint[])[] = [];
  for (let at = 0; at < endpoints.length; at += mostEndpoints) chunks.push(endpoints.slice(at, at + mostEndpoints));
  return chunks;
}

function portId({ name, protocol }: Pick<ExportedPort, 'name' | 'protocol'>): string {
  return `${protocol} ${name}`;
}

/** As the API server stores it. */
function portOf({ name, protocol, port }: EndpointPort, appProtocol: string): Readonly<Record<string, unknown>> {
  return { name, protocol, port, ...(appProtocol === '' ? {} : { appProtocol }) };
}

/** The node of an endpoint is left out: it is none of this cluster. */
function endpointOf(endpoint: ExportedEndpoint, isReached: boolean): Readonly<Record<string, unknown>> {
  const { address, hostname, zone, isReady, isServingWhileTerminating } = endpoint;
  const conditions = {
    ready: isReady && isReached,
    serving: (isReady || isServingWhileTerminating) && isReached,
    terminating: isServingWhileTerminating,
  };
  return {
    addresses: [address],
    conditions,
    ...(hostname === '' ? {} : { hostname }),
    ...(zone === '' ? {} : { zone }),
  };
}
