/**
 * The Services that this cluster exports. In: ServiceExports with their Services and EndpointSlices, the networks of this cluster. Out: what
 * other clusters get, the endpoints that serve in each VPC here, and why an export is not valid. An endpoint whose VPC is not certain for
 * another cluster, because VPCs of this cluster have the same addresses, is not sent.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { endpointsElsewhere } from '../../../lib/services/elsewhere.ts';
import type { Service } from '../../../lib/services/service.ts';
import type { ExportedEndpoint, ExportedService, ExportedServices, SharedClaim } from '../../model/exported-service.ts';
import type { LocalView } from '../../model/local.ts';
import {
  keyOf,
  mostPorts,
  type LocalService,
  type LocalSlice,
  type ServiceExportObject,
} from '../../model/service-objects.ts';

export interface ExportFacts {
  readonly object: ServiceExportObject;
  /** Undefined if it does not exist. */
  readonly service: LocalService | undefined;
  readonly slices: readonly LocalSlice[];
}

export interface OwnExport {
  readonly object: ServiceExportObject;
  /** Why nothing is exported; undefined for a valid export. */
  readonly invalid: Problem | undefined;
  /** What other clusters get; undefined for an export that is not valid or not shared. */
  readonly exported: ExportedService | undefined;
  /** What clients of this cluster alone get; undefined for an export that is not valid, or that is shared. */
  readonly unshared: ExportedService | undefined;
  /** Endpoints that serve pods of a VPC here. */
  readonly endpoints: ReadonlyMap<string, readonly ExportedEndpoint[]>;
}

type Vpcs = LocalView['vpcs'];
type ClaimOf = (service: Service) => SharedClaim | undefined;

/** All exports of this cluster. In: the parts of those that changed. */
export class ValidExports {
  readonly #all = new Map<string, OwnExport>();
  #exported: ExportedServices = new Map();
  #vpcs: Vpcs | undefined;

  get(key: string): OwnExport | undefined {
    return this.#all.get(key);
  }
  keys(): MapIterator<string> {
    return this.#all.keys();
  }
  /** The valid ones; the same object until one of them changes. */
  get exported(): ExportedServices {
    return this.#exported;
  }

  /**
   * `partsOf`: undefined if the export is gone, `unknown` while its Service is not known. `claimOf`: the shared address that a Service claims.
   * Returns the exports that changed.
   */
  step(
    dirty: Iterable<string>,
    vpcs: Vpcs,
    partsOf: (key: string) => ExportFacts | 'gone' | 'unknown',
    claimOf: ClaimOf = () => undefined,
  ): ReadonlySet<string> {
    const keys = new Set(dirty);
    if (vpcs !== this.#vpcs) for (const key of this.#all.keys()) keys.add(key);
    this.#vpcs = vpcs;
    let isExportChanged = false;
    for (const key of keys) {
      const parts = partsOf(key);
      if (parts === 'unknown') continue;
      const before = this.#all.get(key);
      const after = parts === 'gone' ? undefined : ownExportOf(parts, vpcs, before, claimOf);
      isExportChanged ||= before?.exported !== after?.exported;
      if (after === undefined) this.#all.delete(key);
      else this.#all.set(key, after);
    }
    if (isExportChanged)
      this.#exported = new Map(
        [...this.#all].flatMap(([key, { exported }]) => (exported === undefined ? [] : [[key, exported] as const])),
      );
    return keys;
  }

  clear(): void {
    this.#all.clear();
    this.#exported = new Map();
    this.#vpcs = undefined;
  }
}

/** `before`: the same parts stay the same JavaScript objects. */
export function ownExportOf(
  facts: ExportFacts,
  vpcs: Vpcs,
  before?: OwnExport,
  claimOf: ClaimOf = () => undefined,
): OwnExport {
  const { object, service } = facts;
  const invalid = problemOf(facts);
  if (service === undefined || invalid !== undefined)
    return { object, invalid, exported: undefined, unshared: undefined, endpoints: new Map() };
  const all = endpointsOf(facts.slices);
  const places = placesOf(service, vpcs);
  const endpoints = new Map<string, ExportedEndpoint[]>();
  const sent: ExportedEndpoint[] = [];
  for (const endpoint of all) {
    const { vpc, isCertain } = places(endpoint.address);
    if (vpc === undefined) continue;
    endpoints.set(vpc, [...(endpoints.get(vpc) ?? []), endpoint]);
    if (isCertain) sent.push(endpoint);
  }
  const claim = claimOf(service.service);
  const exported: ExportedService = {
    namespace: object.namespace,
    name: object.name,
    createdMs: object.createdMs,
    type: service.isHeadless ? 'Headless' : 'ClusterSetIP',
    ports: service.ports,
    affinitySeconds: service.service.affinitySeconds ?? 0,
    isInternalPolicyLocal: service.service.isInternalPolicyLocal,
    trafficDistribution: service.trafficDistribution,
    ipFamilies: service.service.ipFamilies,
    labels: object.labels,
    annotations: object.annotations,
    endpoints: sent,
    ...(claim && { shared: claim }),
  };
  const former = before?.exported ?? before?.unshared;
  const kept = former !== undefined && isSame(former, exported) ? former : exported;
  const isAsServed =
    before?.endpoints.size === endpoints.size &&
    [...endpoints].every(([vpc, list]) => areSame(before.endpoints.get(vpc) ?? [], list));
  return {
    object,
    invalid,
    exported: object.isShared ? kept : undefined,
    unshared: object.isShared ? undefined : kept,
    endpoints: isAsServed ? before.endpoints : endpoints,
  };
}

function isSame(before: ExportedService, after: ExportedService): boolean {
  const [one, other] = [before, after].map((service) => JSON.stringify({ ...service, endpoints: [] }));
  return one === other && areSame(before.endpoints, after.endpoints);
}

/** One by one: the text of all endpoints of a large Service could be longer than a string may be. */
function areSame(before: readonly ExportedEndpoint[], after: readonly ExportedEndpoint[]): boolean {
  return (
    before.length === after.length &&
    before.every((endpoint, at) => JSON.stringify(endpoint) === JSON.stringify(after[at]))
  );
}

function problemOf({ object, service, slices }: ExportFacts): Problem | undefined {
  const key = keyOf(object);
  if (service === undefined)
    return { code: 'NoService', message: `Service ${key} does not exist: create it, or delete the ServiceExport` };
  if (service.service.type === 'ExternalName') {
    const message = `Service ${key} is of type ExternalName, which cannot be exported: other clusters reach its name without Isthmus`;
    return { code: 'InvalidServiceType', message };
  }
  const most = Math.max(service.ports.length, ...slices.map(({ endpoints: [first] }) => first?.ports.length ?? 0));
  if (most <= mostPorts) return undefined;
  const message = `Service ${key} or one of its EndpointSlices has more than ${mostPorts} ports, and an export has at most as many: split it into several Services`;
  return { code: 'TooManyPorts', message };
}

/** Each address once, in the order of addresses. While an endpoint moves between slices, both have it: the better state is the newer one. */
function endpointsOf(slices: readonly LocalSlice[]): readonly ExportedEndpoint[] {
  const found = new Map<string, ExportedEndpoint>();
  for (const { endpoints } of slices)
    for (const endpoint of endpoints) {
      const key = `${endpoint.address} ${JSON.stringify(endpoint.ports)}`;
      const before = found.get(key);
      if (before === undefined || isPreferred(endpoint, before)) found.set(key, endpoint);
    }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
}

function isPreferred(one: ExportedEndpoint, before: ExportedEndpoint): boolean {
  const difference = rankOf(one) - rankOf(before);
  return difference === 0 ? JSON.stringify(one) < JSON.stringify(before) : difference > 0;
}

function rankOf({ isReady, isServingWhileTerminating }: ExportedEndpoint): number {
  return isReady ? 2 : Number(isServingWhileTerminating);
}

interface EndpointPlace {
  /** The VPC that takes part and has it; undefined if none has. */
  readonly vpc: string | undefined;
  /** No other VPC that takes part has this address too. */
  readonly isCertain: boolean;
}

/** The controller says by an annotation of the Service which endpoints are in another VPC than the default one. */
function placesOf({ service }: LocalService, vpcs: Vpcs): (address: string) => EndpointPlace {
  const elsewhere = endpointsElsewhere(service);
  return (address) => {
    const ip = parseIp(address);
    const holders = [...vpcs.values()].filter(
      ({ ranges }) => ip !== undefined && ranges.some(({ cidr }) => cidrContains(cidr, ip)),
    );
    const others = holders.filter(({ router }) => router !== defaultVpc);
    const isElsewhere = elsewhere === 'all' || elsewhere.has(address);
    if (isElsewhere) {
      const [first, ...more] = others;
      // Which of several VPCs with this address it is in is not known here.
      const vpc = more.length === 0 ? first?.router : undefined;
      return { vpc, isCertain: holders.length === 1 };
    }
    return { vpc: vpcs.has(defaultVpc) ? defaultVpc : undefined, isCertain: others.length === 0 };
  };
}
