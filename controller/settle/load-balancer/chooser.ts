/**
 * Chooses the address of a Service in one family. In: the request of the Service, the pools in force and the addresses of other Services.
 * Out: an address, or the problem with the remedy. It changes no state.
 */
import { annotation } from '../../../lib/api/names.ts';
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { formatIp, type Family, type Ip } from '../../../lib/net/ip.ts';
import { familiesOf, sharingObstacle, type AddressRequest } from '../../../lib/services/load-balancer.ts';
import { serviceKey, type Service } from '../../../lib/services/service.ts';
import { sharedAddressName, type LoadBalancerPool, type SharedAddress } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import type { AddressBook } from './address-book.ts';

type Pools = Pick<
  View,
  'services' | 'namespaces' | 'loadBalancerPools' | 'loadBalancerPoolVerdicts' | 'sharedAddresses'
>;

/** A Service that waits for an address. */
export interface WaitingService {
  readonly service: Service;
  readonly request: AddressRequest;
  /** The addresses that it has already. */
  readonly held: ReadonlyMap<Family, Ip>;
  /** Addresses of other Services with its sharing key. */
  readonly shared: Iterable<Ip>;
}

interface Rival {
  readonly holder: Service;
  readonly obstacle: string;
}

type Choice = { readonly ip: Ip } | { readonly problem: Problem };

/** The order of objects by age. */
export function agedOf(service: Service): { readonly name: string; readonly createdMs: number } {
  return { name: serviceKey(service), createdMs: service.createdMs };
}

function refuse(code: string, message: string): Choice {
  return { problem: { code, message } };
}

/** Pools that select Services or namespaces come before pools for all. */
function isForAll({ spec: { serviceSelector, namespaceSelector } }: LoadBalancerPool): boolean {
  const parts = [serviceSelector, namespaceSelector].flatMap(({ matchLabels = {}, matchExpressions = [] }) => [
    ...Object.keys(matchLabels),
    ...matchExpressions,
  ]);
  return parts.length === 0;
}

export class Chooser {
  readonly #view: Pools;
  readonly #book: AddressBook;
  /** Whether Isthmus allocates addresses to a Service. */
  readonly #isOurs: (key: string) => boolean;

  constructor(view: Pools, book: AddressBook, isOurs: (key: string) => boolean) {
    this.#view = view;
    this.#book = book;
    this.#isOurs = isOurs;
  }

  /** Undefined if a Service with PreferDualStack must be content with its address of the other family. */
  choose(waiting: WaitingService, family: Family): Choice | undefined {
    const wanted = waiting.request.addresses.get(family);
    const { pool = '' } = waiting.request;
    if (this.#view.loadBalancerPools.get(pool)?.spec.isShared === true) return this.#agreed(waiting, family, pool);
    return wanted === undefined ? this.#any(waiting, family) : this.#check(waiting, wanted);
  }

  /**
   * Whether it is an address of a pool that clusters share, and not the one that they agreed on for the Service: another Service may have
   * it in another cluster.
   */
  isForfeited(service: Service, ip: Ip): boolean {
    const pool = this.#view.loadBalancerPools.get(this.#book.poolOf(ip) ?? '');
    if (pool?.spec.isShared !== true) return false;
    return this.#sharedOf(service)?.addresses.get(ip.family)?.value !== ip.value;
  }

  selects({ spec }: LoadBalancerPool, { namespace, labels }: Service): boolean {
    return (
      matchesSelector(spec.serviceSelector, labels) &&
      matchesSelector(spec.namespaceSelector, this.#view.namespaces.get(namespace)?.labels ?? {})
    );
  }

  /** The holders of an address with which the Service cannot share it, and why; the oldest first. */
  rivalsOf(service: Service, ip: Ip): readonly Rival[] {
    const own = serviceKey(service);
    const rivals: Rival[] = [];
    for (const key of this.#book.holdersOf(ip)) {
      const holder = key === own ? undefined : this.#view.services.get(key);
      if (holder === undefined) continue;
      const obstacle = this.#isOurs(key)
        ? sharingObstacle(service, holder)
        : 'another program assigned its address, which no Service of Isthmus can share';
      if (obstacle !== undefined) rivals.push({ holder, obstacle });
    }
    return rivals.sort((a, b) => byAge(agedOf(a.holder), agedOf(b.holder)));
  }

  #check({ service, request }: WaitingService, ip: Ip): Choice {
    const text = formatIp(ip);
    const owner = this.#book.ownerOf(ip);
    if (owner !== undefined) return refuse('AddressInUse', `${text} is an address of ${owner}: request another one`);
    const name = this.#book.poolOf(ip);
    const pool = name === undefined ? undefined : this.#view.loadBalancerPools.get(name);
    if (pool === undefined)
      return refuse(
        'AddressNotInPool',
        `${text} is in no LoadBalancerPool in force: add it to a pool, or request an address of a pool`,
      );
    if (request.pool !== undefined && request.pool !== pool.name)
      return refuse(
        'AddressNotInPool',
        `${text} is in LoadBalancerPool ${pool.name} and not in ${request.pool}: request only one of the two`,
      );
    if (pool.spec.isShared)
      return refuse(
        'AddressNotInPool',
        `${text} is in LoadBalancerPool ${pool.name}, which clusters share: name the pool in the annotation ${annotation.loadBalancerPool} too`,
      );
    if (!this.selects(pool, service)) return this.#notFor(pool.name);
    const [rival] = this.rivalsOf(service, ip);
    if (rival === undefined) return { ip };
    return refuse(
      'AddressInUse',
      `${text} is the address of Service ${serviceKey(rival.holder)}, and ${rival.obstacle}: request another address, or wait until this one is free`,
    );
  }

  #sharedOf(service: Service): SharedAddress | undefined {
    const key = serviceKey(service);
    const shared = this.#view.sharedAddresses.get(sharedAddressName(key));
    return shared?.service === key ? shared : undefined;
  }

  /** The address on which the clusters that share the pool agreed for the Service. */
  #agreed({ service, request, held }: WaitingService, family: Family, pool: string): Choice | undefined {
    const pools = this.#poolsFor({ service, request });
    if ('problem' in pools) return pools;
    const shared = this.#sharedOf(service);
    if (shared === undefined || shared.pool !== pool)
      return refuse(
        'AddressPending',
        `LoadBalancerPool ${pool} is shared between clusters, which have agreed on no address for this Service yet: export it by a ServiceExport of the same name, and see the condition HubReachable of the Interconnect`,
      );
    const ip = shared.addresses.get(family);
    if (ip !== undefined) return this.#checkAgreed(service, request, ip, pool);
    if (shared.reason !== '') return refuse(shared.reason, shared.message);
    if (service.prefersDualStack && familiesOf(service).length > 1 && (held.size > 0 || shared.addresses.size > 0))
      return undefined;
    return refuse(
      'NoPoolOfFamily',
      `LoadBalancerPool ${pool} has no IPv${family} addresses: add some in each cluster that shares it, or remove IPv${family} from spec.ipFamilies`,
    );
  }

  #checkAgreed(service: Service, { addresses }: AddressRequest, ip: Ip, pool: string): Choice {
    const text = formatIp(ip);
    const wanted = addresses.get(ip.family);
    if (wanted !== undefined && wanted.value !== ip.value)
      return refuse(
        'AddressDiffers',
        `this Service has ${text} in all clusters, by an older agreement: request ${text} instead of ${formatIp(wanted)} in each of them, or name another pool`,
      );
    const owner = this.#book.ownerOf(ip);
    if (owner !== undefined)
      return refuse('AddressInUse', `${text}, which this Service has in all clusters, is an address of ${owner} here`);
    if (this.#book.poolOf(ip) !== pool)
      return refuse(
        'PoolDiffers',
        `${text}, which this Service has in all clusters, is not in LoadBalancerPool ${pool}: make spec.addresses equal in all clusters that share it`,
      );
    const [rival] = this.rivalsOf(service, ip);
    if (rival === undefined) return { ip };
    return refuse(
      'AddressInUse',
      `${text} is the address of Service ${serviceKey(rival.holder)}, and ${rival.obstacle}`,
    );
  }

  #notFor(pool: string): Choice {
    return refuse(
      'PoolNotForService',
      `LoadBalancerPool ${pool} selects other Services or namespaces: add a label that it selects, or name another pool`,
    );
  }

  #any(waiting: WaitingService, family: Family): Choice | undefined {
    const { service, shared } = waiting;
    const pools = this.#poolsFor(waiting);
    if ('problem' in pools) return pools;
    const fitting = pools.list.filter(({ name }) => this.#book.hasFamily(name, family));
    const names = new Set(fitting.map(({ name }) => name));
    const together = [...shared]
      .filter((ip) => ip.family === family && names.has(this.#book.poolOf(ip) ?? ''))
      .filter((ip) => this.rivalsOf(service, ip).length === 0)
      .sort((a, b) => (a.value < b.value ? -1 : 1))[0];
    if (together !== undefined) return { ip: together };
    for (const { name } of this.#inOrder(fitting, waiting)) {
      const ip = this.#book.lowestFree(name, family);
      if (ip !== undefined) return { ip };
    }
    const listed = (fitting.length === 0 ? pools.list : fitting)
      .map(({ name }) => name)
      .sort()
      .join(', ');
    if (fitting.length > 0)
      return refuse(
        'NoFreeAddress',
        `LoadBalancerPool ${listed} has no free IPv${family} address: add addresses, or delete a Service; the oldest waiting Service gets the next free one`,
      );
    if (service.prefersDualStack && familiesOf(service).length > 1 && this.#hasAny(pools.list, service))
      return undefined;
    return refuse(
      'NoPoolOfFamily',
      `LoadBalancerPool ${listed} has no IPv${family} addresses: add some, or remove IPv${family} from spec.ipFamilies`,
    );
  }

  #hasAny(pools: readonly LoadBalancerPool[], service: Service): boolean {
    return familiesOf(service).some((family) => pools.some(({ name }) => this.#book.hasFamily(name, family)));
  }

  /** Pools from which the Service already has an address, or can get addresses of all families, come first. */
  #inOrder(pools: readonly LoadBalancerPool[], { service, held }: WaitingService): readonly LoadBalancerPool[] {
    const missing = familiesOf(service).filter((family) => !held.has(family));
    const own = new Set([...held.values()].map((ip) => this.#book.poolOf(ip)));
    const rank = ({ name }: LoadBalancerPool): number => {
      if (own.has(name)) return 0;
      return missing.every((family) => this.#book.lowestFree(name, family) !== undefined) ? 1 : 2;
    };
    const specific = (pool: LoadBalancerPool): number => Number(isForAll(pool));
    return [...pools].sort((a, b) => rank(a) - rank(b) || specific(a) - specific(b) || byAge(a, b));
  }

  /** The pools in force from which the Service may get addresses, in no order. */
  #poolsFor({
    service,
    request,
  }: Pick<WaitingService, 'service' | 'request'>):
    | { readonly list: readonly LoadBalancerPool[] }
    | { readonly problem: Problem } {
    const { loadBalancerPools: all, loadBalancerPoolVerdicts: verdicts } = this.#view;
    const isInForce = (name: string): boolean => (verdicts.get(name)?.ranges.length ?? 0) > 0;
    if (request.pool !== undefined) return this.#named(request.pool, service, isInForce(request.pool));
    const list = [...all.values()].filter(
      (pool) => pool.spec.autoAssign && isInForce(pool.name) && this.selects(pool, service),
    );
    if (list.length > 0) return { list };
    const message =
      all.size === 0
        ? 'there is no LoadBalancerPool: create one, or name the class of another load balancer in spec.loadBalancerClass'
        : 'no LoadBalancerPool in force selects this Service and has spec.autoAssign: kubectl get loadbalancerpools lists them; name one in the annotation isthmus.network/load-balancer-pool, or create one';
    return { problem: { code: 'NoPool', message } };
  }

  #named(
    name: string,
    service: Service,
    isInForce: boolean,
  ): { readonly list: readonly LoadBalancerPool[] } | { readonly problem: Problem } {
    const pool = this.#view.loadBalancerPools.get(name);
    if (pool === undefined)
      return {
        problem: { code: 'PoolNotFound', message: `there is no LoadBalancerPool ${name}: create it, or name another` },
      };
    if (!isInForce)
      return {
        problem: {
          code: 'PoolNotReady',
          message: `LoadBalancerPool ${name} was refused: its condition Ready has the reason; correct it, or name another`,
        },
      };
    if (this.selects(pool, service)) return { list: [pool] };
    const refused = this.#notFor(name);
    return 'problem' in refused ? refused : { list: [] };
  }
}
