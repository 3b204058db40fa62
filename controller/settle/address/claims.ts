/** Requests of objects to the allocator, the places to try, and whether an existing allocation satisfies a request. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import type { Interface } from '../../model/interfaces.ts';
import { routingInForce } from '../../model/net-in-force.ts';
import { vipPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import type { Place } from './addresses.ts';
import type { PortRequest } from './port-request.ts';
import type { PortRecord } from './records.ts';

export interface PortWant {
  readonly port: string;
  readonly interface: Interface;
  readonly request: { readonly value: PortRequest } | { readonly problem: Problem };
}

export interface Claimant {
  /** The object's; another one of the same name is another claimant. */
  readonly uid: string;
  readonly createdMs: number;
  readonly name: string;
  /**
   * The holder of the ports, which may outlive this object: `statefulset/default/db`, `vm/default/one`. Equal to the uid for
   * objects whose ports are released with them.
   */
  readonly holder: string;
  readonly wants: readonly PortWant[];
  readonly namespace?: string;
}

type Places = { readonly places: readonly Place[] } | { readonly problem: Problem };

/** Subnets and IPPools to try for a port, in order, or the problem of the named ones. */
export function placesOf(view: View, claimant: Claimant, network: Interface, request: PortRequest): Places {
  const found = askedPlaces(view, claimant, network, request);
  if (claimant.namespace === undefined || 'problem' in found) return found;
  const places = found.places.filter(({ subnet }) => routingInForce(view.verdicts.get(subnet)?.net) !== 'nodes');
  const [first] = found.places;
  if (places.length > 0 || first === undefined) return { places };
  const message = `subnet ${first.subnet} is for addresses outside: nodes route to it themselves, and would not reach a pod of another node: name a subnet in another ProviderNetwork, or in no Vlan`;
  return { problem: { code: 'NotForPods', message } };
}

function askedPlaces(view: View, { namespace }: Claimant, network: Interface, request: PortRequest): Places {
  if (request.vip !== undefined) return vipPlace(view, request.vip);
  const named = request.subnets?.map((subnet) => ({ subnet }));
  if (namespace === undefined) return { places: named ?? [] };
  const stray = request.subnets?.find(
    (subnet) => (view.subnets.get(subnet)?.spec.provider || 'ovn') !== network.provider,
  );
  if (stray !== undefined && view.subnets.has(stray)) {
    const message = `subnet ${stray} is of provider ${view.subnets.get(stray)?.spec.provider || 'ovn'}, not of ${network.provider}: name another`;
    return { problem: { code: 'NoSubnet', message } };
  }
  if (request.pools !== undefined) return poolPlaces(view, request.pools);
  if (named !== undefined) return { places: named };
  if (network.provider !== 'ovn') {
    const names = [...view.indexes.subnetsByProvider.of(network.provider)];
    const own = names.flatMap((name) => view.subnets.get(name) ?? []).sort(byAge);
    if (own.length > 0) return { places: own.map(({ name }) => ({ subnet: name })) };
    const message = `no subnet has provider ${network.provider}, which the pod's attachment names: create one`;
    return { problem: { code: 'NoSubnet', message } };
  }
  const pools = view.boundPools(namespace);
  // A request for specific addresses is not limited to IPPools.
  const isFree = pools.length === 0 || request.addresses !== undefined || request.candidates !== undefined;
  if (!isFree) return poolPlaces(view, pools);
  const bound = view.binding(namespace).subnets;
  if (bound.length > 0) return { places: bound.map((subnet) => ({ subnet })) };
  const message = `namespace ${namespace} belongs to a Vpc that has no subnet: create a Subnet in that Vpc`;
  return { problem: { code: 'NoSubnet', message } };
}

function poolPlaces(view: View, names: readonly string[]): Places {
  const places: Place[] = [];
  let problem: Problem | undefined;
  for (const name of names) {
    const pool = view.ipPools.get(name);
    const obstacle = view.poolVerdicts.get(name)?.problem;
    if (pool === undefined) problem ??= { code: 'IPPoolNotFound', message: `IPPool ${name} does not exist` };
    else if (pool.isDeleting)
      problem ??= { code: 'IPPoolNotReady', message: `IPPool ${name} gives no addresses: it is being deleted` };
    else if (obstacle !== undefined)
      problem ??= { code: 'IPPoolNotReady', message: `IPPool ${name} gives no addresses: ${obstacle.message}` };
    else places.push({ subnet: pool.spec.subnet, pool: name });
  }
  return places.length === 0 && problem !== undefined ? { problem } : { places };
}

type Held = Pick<Allocation, 'subnet' | 'v4' | 'v6'> & { readonly mac: string | undefined };

/** Whether an inherited allocation satisfies the request. A record without a MAC address matches any. */
export function satisfies(request: PortWant['request'], held: Allocation | PortRecord | undefined): boolean {
  if ('problem' in request || held === undefined) return false;
  const allocation = 'addresses' in held ? heldBy(held) : held;
  const { addresses, candidates, mac, subnets } = request.value;
  const has = (texts: readonly string[]): boolean =>
    texts.every((text) => text === allocation.v4 || text === allocation.v6);
  if (addresses !== undefined && !has(addresses.map(formatIp))) return false;
  if (candidates !== undefined && !candidates.some((set) => has(set.map(formatIp)))) return false;
  if (mac !== undefined && mac !== (allocation.mac ?? mac)) return false;
  return subnets === undefined || subnets.includes(allocation.subnet);
}

function heldBy({ subnet, addresses, mac }: PortRecord): Held {
  const text = (family: Family): string | undefined => {
    const ip = addresses.find((one) => one.family === family);
    return ip && formatIp(ip);
  };
  const [v4, v6] = [text(4), text(6)];
  return { subnet, mac, ...(v4 === undefined ? {} : { v4 }), ...(v6 === undefined ? {} : { v6 }) };
}

/** Whether a record equals the allocation. A record without a MAC address matches any. */
export function agrees(record: PortRecord | undefined, allocation: Allocation | undefined): boolean {
  if (record === undefined || allocation?.subnet !== record.subnet) return false;
  const texts = [allocation.v4, allocation.v6].filter((text) => text !== undefined);
  return texts.join() === record.addresses.map(formatIp).join() && (record.mac ?? allocation.mac) === allocation.mac;
}

function vipPlace(view: View, name: string): ReturnType<typeof placesOf> {
  const [held] = view.ports(vipPort(name));
  if (held !== undefined) return { places: [{ subnet: held.allocation.subnet }] };
  const message = `annotation ovn.kubernetes.io/vip: Vip ${name} does not exist or has no address yet`;
  return { problem: { code: 'VipNotFound', message } };
}
