/**
 * The addresses of Services of type LoadBalancer. In: changes of Services, LoadBalancerPools and of all that their addresses must not be in.
 * Out: for each Service its addresses and the condition about them, which `plan/load-balancer-pool/address.ts` reports. Rules: an address once given stays. The status of the Service is the
 * record: a restart reads it and decides the same. Of two Services that claim an address the older keeps it. A Service that
 * waits gets the next free address, the oldest first.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { addTo, allOf, removeFrom, type Few } from '../../../lib/desired/few.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { formatIp, parseIp, type Family, type Ip } from '../../../lib/net/ip.ts';
import {
  familiesOf,
  isGiven,
  keeps,
  loadBalancerClass,
  loadBalancerReady,
  parseAddressRequest,
  sharingKeyOf,
  type AddressRequest,
} from '../../../lib/services/load-balancer.ts';
import { serviceKey, type Service } from '../../../lib/services/service.ts';
import type { Change } from '../../model/change.ts';
import type { LoadBalancerPool, SharedAddress } from '../../model/objects.ts';
import type { LoadBalancer, LoadBalancerPoolVerdict, LoadBalancerUsage } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { text } from '../fingerprint.ts';
import { AddressBook } from './address-book.ts';
import { AgeQueue } from './age-queue.ts';
import { agedOf, Chooser } from './chooser.ts';
import { isPoolInForce, judgeLoadBalancerPools, opponentsIn, overlapsPool, subnetOwner } from './judge-pools.ts';

export interface LoadBalancersOptions {
  readonly view: View;
  /** By `namespace/name` of the Service. */
  readonly onChange: (service: string) => void;
  /** The verdict on a pool, or its counts. */
  readonly onPool: (pool: string) => void;
}

/** A Service to which Isthmus allocates addresses. */
interface Holding {
  readonly uid: string;
  readonly ips: Map<Family, Ip>;
  /** The Services that it may share an address with. */
  sharing: string;
  /** The addresses that it asks for. */
  requested: readonly string[];
}

function poolText(pool: LoadBalancerPool | undefined): string {
  return pool === undefined ? '' : text([pool.uid, pool.spec, isPoolInForce(pool)]);
}

function ownCondition(service: Service | undefined) {
  return service?.conditions.find(({ type }) => type === loadBalancerReady);
}

function ipsOf({ ingress }: Service): readonly Ip[] {
  return ingress.flatMap(({ ip = '', ipMode }) => (ipMode === 'Proxy' ? [] : (parseIp(ip) ?? [])));
}

export class LoadBalancers {
  readonly balancers = new Map<string, LoadBalancer>();
  verdicts: ReadonlyMap<string, LoadBalancerPoolVerdict> = new Map();
  readonly #options: LoadBalancersOptions;
  readonly #book = new AddressBook();
  readonly #chooser: Chooser;
  readonly #holdings = new Map<string, Holding>();
  /** Addresses of Services to which other programs allocate addresses. */
  readonly #foreign = new Map<string, readonly Ip[]>();
  /** Holdings by sharing key. */
  readonly #sharers = new Map<string, Few>();
  /** Holdings by requested address, because their conditions name its holder. */
  readonly #requesters = new Map<string, Few>();
  readonly #waiting = new AgeQueue();
  readonly #due = new Set<string>();
  /** Released addresses that have not been offered to waiting Services yet. */
  #freed = new Map<string, Ip>();
  #arePoolsDue = true;
  /** Objects with addresses of pools, as owners in the verdicts. */
  #opponents: ReadonlySet<string> = new Set();
  /** The ranges or selectors of a pool changed, so that Services may get other addresses. */
  #arePoolsChanged = true;

  constructor(options: LoadBalancersOptions) {
    this.#options = options;
    this.#chooser = new Chooser(options.view, this.#book, (key) => this.#holdings.has(key));
  }

  usage(pool: string): LoadBalancerUsage {
    return this.#book.usage(pool);
  }

  /** Marks what the change may affect. */
  changed(change: Change): void {
    if (change.kind === 'services') this.#serviceChanged(change.name, change.before, change.after);
    else if (change.kind === 'namespaces' && text(change.before?.labels) !== text(change.after?.labels))
      this.#markIf((key) => key.startsWith(`${change.name}/`));
    else if (change.kind === 'loadBalancerPools') this.#poolChanged(change.before, change.after);
    else if (change.kind === 'sharedAddresses') this.#sharedChanged(change.before, change.after);
    else if (change.kind === 'nodes')
      this.#arePoolsDue ||= text(change.before?.addresses) !== text(change.after?.addresses);
    else if (change.kind === 'verdicts') this.#arePoolsDue ||= this.#concernsPools(change.name);
    else if (change.kind === 'serviceCidrs' || change.kind === 'transitSwitches') this.#arePoolsDue = true;
  }

  settle(): void {
    if (this.#arePoolsDue) this.#judgePools();
    while (this.#due.size > 0 || this.#freed.size > 0) {
      this.#settleDue();
      this.#offerFreed();
    }
  }

  #poolChanged(before: LoadBalancerPool | undefined, after: LoadBalancerPool | undefined): void {
    if (poolText(before) === poolText(after)) return;
    this.#arePoolsDue = true;
    this.#arePoolsChanged = true;
  }

  /** What the agent wrote about a Service that is not ours waits until it is. */
  #sharedChanged(before: SharedAddress | undefined, after: SharedAddress | undefined): void {
    for (const service of [before?.service, after?.service])
      if (service !== undefined && this.#holdings.has(service)) this.#due.add(service);
  }

  /** Whether verdicts on pools depend on this Subnet, or would now. */
  #concernsPools(subnet: string): boolean {
    const { view } = this.#options;
    if (this.#opponents.has(subnetOwner(subnet))) return true;
    const net = view.verdicts.get(subnet)?.net;
    return net !== undefined && overlapsPool(net, view.loadBalancerPools.values());
  }

  #serviceChanged(key: string, before: Service | undefined, after: Service | undefined): void {
    const concerns = (service: Service | undefined): boolean =>
      service?.type === 'LoadBalancer' || ownCondition(service) !== undefined;
    if (this.#holdings.has(key) || this.#foreign.has(key) || concerns(before) || concerns(after)) this.#due.add(key);
    for (const ip of this.#holdings.get(key)?.ips.values() ?? []) this.#markRequesters(ip, key);
  }

  #markIf(isMeant: (key: string) => boolean): void {
    for (const known of [this.#holdings, this.#foreign])
      for (const key of known.keys()) if (isMeant(key)) this.#due.add(key);
  }

  #judgePools(): void {
    this.#arePoolsDue = false;
    const { view, onPool } = this.#options;
    const before = this.verdicts;
    this.verdicts = view.loadBalancerPools.size === 0 ? new Map() : judgeLoadBalancerPools(view);
    this.#opponents = opponentsIn(this.verdicts.values());
    const names = new Set([...before.keys(), ...this.verdicts.keys()]);
    const changed = [...names].filter((name) => text(before.get(name)) !== text(this.verdicts.get(name)));
    if (changed.length > 0) this.#book.define(this.verdicts);
    for (const name of changed) onPool(name);
    // Addresses for which Services wait may be free now, and Services of another program may be left to Isthmus.
    if (changed.length > 0 || this.#arePoolsChanged) this.#markIf(() => true);
    this.#arePoolsChanged = false;
  }

  #settleDue(): void {
    const keys = [...this.#due];
    this.#due.clear();
    const { services } = this.#options.view;
    for (const key of keys) this.#leave(key, services.get(key));
    const ours = keys
      .flatMap((key) => services.get(key) ?? [])
      .filter((service) => this.#isOurs(service))
      .sort((a, b) => byAge(agedOf(a), agedOf(b)));
    // All records before any choice: an address that a Service has is not free.
    for (const service of ours) this.#claim(service);
    this.#offerWithNewcomers(ours);
    for (const service of ours) {
      this.#assign(service);
      this.#offerShared(serviceKey(service));
    }
    for (const key of keys) if (!this.#holdings.has(key)) this.#become(key, this.#leftOver(services.get(key)));
  }

  /**
   * Releases the addresses of a Service that is deleted or left to another program, and notes those that the other program allocates, or that the
   * status still has during the deletion: until then other programs of the cluster lead packets there.
   */
  #leave(key: string, service: Service | undefined): void {
    const holding = this.#holdings.get(key);
    const isOurs = service !== undefined && this.#isOurs(service);
    if (holding !== undefined && (!isOurs || holding.uid !== service.uid)) {
      for (const ip of holding.ips.values()) this.#release(ip, key);
      this.#share(key, holding, '');
      this.#request(key, holding, []);
      this.#holdings.delete(key);
      this.#waiting.delete(key);
    }
    for (const ip of this.#foreign.get(key) ?? []) this.#release(ip, key);
    this.#foreign.delete(key);
    if (service?.type !== 'LoadBalancer' || isOurs) return;
    const ips = ipsOf(service);
    this.#foreign.set(key, ips);
    for (const ip of ips) {
      for (const other of this.#book.holdersOf(ip)) if (this.#holdings.has(other)) this.#due.add(other);
      this.#hold(ip, key);
    }
  }

  #isOurs(service: Service): boolean {
    return !service.isDeleting && this.#isOfOurs(service);
  }

  /** Whether Isthmus allocates its addresses, or did so before its deletion. */
  #isOfOurs(service: Service): boolean {
    if (service.type !== 'LoadBalancer') return false;
    if (service.loadBalancerClass !== undefined) return service.loadBalancerClass === loadBalancerClass;
    return this.#options.view.capabilities.onlyClassedLoadBalancers !== true && !this.#isOfAnother(service);
  }

  /** Whether another program allocated the addresses of a Service without a class. */
  #isOfAnother(service: Service): boolean {
    const holding = this.#holdings.get(serviceKey(service));
    const isKnown = holding?.uid === service.uid && holding.ips.size > 0;
    if (isKnown || service.ingress.length === 0) return false;
    return ipsOf(service).every((ip) => this.#book.poolOf(ip) === undefined && !isGiven(service, ip));
  }

  #claim(service: Service): void {
    const key = serviceKey(service);
    if (this.#holdings.has(key)) return;
    const ips = new Map<Family, Ip>();
    for (const ip of ipsOf(service))
      if (familiesOf(service).includes(ip.family) && !ips.has(ip.family)) ips.set(ip.family, ip);
    this.#holdings.set(key, { uid: service.uid, ips, sharing: '', requested: [] });
    for (const ip of ips.values()) this.#hold(ip, key);
  }

  #assign(service: Service): void {
    const key = serviceKey(service);
    const holding = this.#holdings.get(key);
    if (holding === undefined) return;
    const parsed = parseAddressRequest(service);
    const request = typeof parsed === 'string' ? undefined : parsed;
    const sharingKey = sharingKeyOf(service);
    this.#share(key, holding, sharingKey === '' ? '' : `${service.namespace}/${sharingKey}`);
    this.#request(key, holding, [...(request?.addresses.values() ?? [])].map(formatIp));
    const families = familiesOf(service);
    for (const [family, ip] of holding.ips)
      if (!families.includes(family) || this.#chooser.isForfeited(service, ip) || this.#isLost(service, ip))
        this.#drop(holding, ip, key);
    const problems: Problem[] = [];
    const notes: string[] = [];
    if (typeof parsed === 'string') problems.push({ code: 'RequestInvalid', message: parsed });
    for (const family of families) {
      if (request === undefined || !this.#isMissing(holding, request, family)) continue;
      const waiting = { service, request, held: holding.ips, shared: this.#sharedWith(key, holding) };
      const choice = this.#chooser.choose(waiting, family);
      if (choice === undefined) notes.push(`no LoadBalancerPool that it may use has IPv${family} addresses`);
      else if ('problem' in choice) problems.push(choice.problem);
      else this.#take(holding, choice.ip, key);
    }
    // A problem of the request itself is settled when the Service changes.
    if (problems.length > 0 && request !== undefined) this.#waiting.add(agedOf(service));
    else this.#waiting.delete(key);
    this.#become(key, this.#balancerOf(service, holding, problems, notes));
  }

  /** Whether an older Service has the address too. Younger ones are marked, because they lose it. */
  #isLost(service: Service, ip: Ip): boolean {
    const rivals = this.#chooser.rivalsOf(service, ip);
    if (rivals.some(({ holder }) => byAge(agedOf(holder), agedOf(service)) < 0)) return true;
    for (const { holder } of rivals) if (this.#holdings.has(serviceKey(holder))) this.#due.add(serviceKey(holder));
    return false;
  }

  /** Whether the Service lacks an address of the family, or asks for another one than it has. */
  #isMissing({ ips }: Holding, { addresses, pool }: AddressRequest, family: Family): boolean {
    const [has, wants] = [ips.get(family), addresses.get(family)];
    if (has === undefined) return true;
    if (wants !== undefined) return wants.value !== has.value;
    // An address outside of all pools stays: its pool may have shrunk.
    const from = this.#book.poolOf(has);
    return pool !== undefined && from !== undefined && from !== pool;
  }

  *#sharedWith(key: string, { sharing }: Holding): Iterable<Ip> {
    if (sharing === '') return;
    for (const other of allOf(this.#sharers.get(sharing)))
      if (other !== key) yield* this.#holdings.get(other)?.ips.values() ?? [];
  }

  #balancerOf(
    service: Service,
    { ips }: Holding,
    problems: readonly Problem[],
    notes: readonly string[],
  ): LoadBalancer {
    const held = familiesOf(service).flatMap((family) => ips.get(family) ?? []);
    const ingress = held.map((ip) => ({ ip: formatIp(ip), ipMode: 'VIP' }));
    const kept = held.length === 0 ? '' : `${keeps}${held.map(formatIp).join(', ')}`;
    const [first] = problems;
    if (first !== undefined) {
      // Both families may have the same.
      const message = `${[...new Set(problems.map((one) => one.message))].join('; ')}${kept}`;
      return { ingress, ready: { isTrue: false, code: first.code, message } };
    }
    const places = held.map((ip) => this.#placeOf(service, ip));
    const isOutside = places.some(({ isIn }) => !isIn);
    const message = [...places.map(({ message: place }) => place), ...notes].join('; ');
    return { ingress, ready: { isTrue: true, code: isOutside ? 'AddressOutsidePool' : 'AddressesGiven', message } };
  }

  #placeOf(service: Service, ip: Ip): { readonly isIn: boolean; readonly message: string } {
    const address = formatIp(ip);
    const owner = this.#book.ownerOf(ip);
    const name = this.#book.poolOf(ip);
    const pool = name === undefined ? undefined : this.#options.view.loadBalancerPools.get(name);
    const advice = 'stays with this Service: to give it another one, delete the Service and create it again';
    if (owner !== undefined) return { isIn: false, message: `${address} is an address of ${owner} now, and ${advice}` };
    if (pool === undefined)
      return { isIn: false, message: `${address} is in no LoadBalancerPool in force; add it to one. It ${advice}` };
    const everywhere = pool.spec.isShared ? ', in all clusters that share it' : '';
    if (this.#chooser.selects(pool, service))
      return { isIn: true, message: `${address} of LoadBalancerPool ${pool.name}${everywhere}` };
    return {
      isIn: false,
      message: `${address} is in LoadBalancerPool ${pool.name}, which does not select this Service; it ${advice}`,
    };
  }

  /** What remains in the status of a Service that Isthmus allocates no addresses to any more. */
  #leftOver(service: Service | undefined): LoadBalancer | undefined {
    if (service === undefined || ownCondition(service) === undefined) return undefined;
    if (service.type !== 'LoadBalancer' || (service.isDeleting && this.#isOfOurs(service)))
      return { ingress: [], ready: undefined };
    const isOurs = (text: string): boolean => {
      const ip = parseIp(text);
      return ip !== undefined && isGiven(service, ip) && this.#book.poolOf(ip) !== undefined;
    };
    return { ingress: service.ingress.filter(({ ip = '' }) => !isOurs(ip)), ready: undefined };
  }

  /** Of the addresses that were just released, a Service that waits gets one before a younger newcomer. */
  #offerWithNewcomers(services: readonly Service[]): void {
    if (this.#freed.size === 0) return;
    for (const service of services)
      if ((this.#holdings.get(serviceKey(service))?.ips.size ?? 0) === 0) this.#waiting.add(agedOf(service));
    this.#offerFreed();
  }

  /** Offers released addresses to the Services that wait, the oldest first. */
  #offerFreed(): void {
    const offered = this.#freed;
    this.#freed = new Map();
    for (const key of offered.size === 0 ? [] : this.#waiting.names()) {
      for (const [name, ip] of offered) if (this.#isTakenAlone(ip)) offered.delete(name);
      if (offered.size === 0) return;
      const service = this.#options.view.services.get(key);
      if (service !== undefined) this.#assign(service);
    }
  }

  /** After a change of its ports, other Services may share its address. */
  #offerShared(key: string): void {
    const { sharing = '', ips } = this.#holdings.get(key) ?? {};
    for (const ip of sharing === '' ? [] : (ips?.values() ?? [])) this.#freed.set(formatIp(ip), ip);
  }

  /** Whether no other Service can have the address. */
  #isTakenAlone(ip: Ip): boolean {
    const holders = [...this.#book.holdersOf(ip)];
    return holders.length > 0 && holders.every((key) => (this.#holdings.get(key)?.sharing ?? '') === '');
  }

  #share(key: string, holding: Holding, sharing: string): void {
    if (holding.sharing === sharing) return;
    if (holding.sharing !== '') removeFrom(this.#sharers, holding.sharing, key);
    holding.sharing = sharing;
    if (sharing !== '') addTo(this.#sharers, sharing, key);
  }

  #request(key: string, holding: Holding, requested: readonly string[]): void {
    for (const ip of holding.requested) removeFrom(this.#requesters, ip, key);
    holding.requested = requested;
    for (const ip of requested) addTo(this.#requesters, ip, key);
  }

  #markRequesters(ip: Ip, holder: string): void {
    for (const key of allOf(this.#requesters.get(formatIp(ip)))) if (key !== holder) this.#due.add(key);
  }

  #take(holding: Holding, ip: Ip, key: string): void {
    const before = holding.ips.get(ip.family);
    if (before !== undefined) this.#drop(holding, before, key);
    holding.ips.set(ip.family, ip);
    this.#hold(ip, key);
  }

  #drop(holding: Holding, ip: Ip, key: string): void {
    holding.ips.delete(ip.family);
    this.#release(ip, key);
  }

  #hold(ip: Ip, key: string): void {
    for (const pool of this.#book.hold(ip, key)) this.#options.onPool(pool);
    this.#markRequesters(ip, key);
  }

  #release(ip: Ip, key: string): void {
    for (const pool of this.#book.release(ip, key)) this.#options.onPool(pool);
    this.#markRequesters(ip, key);
    this.#freed.set(formatIp(ip), ip);
  }

  #become(key: string, after: LoadBalancer | undefined): void {
    if (text(this.balancers.get(key)) === text(after)) return;
    if (after === undefined) this.balancers.delete(key);
    else this.balancers.set(key, after);
    this.#options.onChange(key);
  }
}
