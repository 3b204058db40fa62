/** Who has a right to ports now, by key, and what each asks of the allocator. Pure; called by `Ports`. */
import {
  defaultSubnet,
  joinSubnet,
  nodePortName,
  querierPortName,
  routerSwitchPort,
  u2oPortName,
} from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import { defaultInterface, interfacesOf, machineOf, portName, wantsNetwork } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import { routingInForce } from '../../model/net-in-force.ts';
import { podKey } from '../../model/objects.ts';
import type { Node, Pod, Vip } from '../../model/objects.ts';
import { vipPort, routerMacSpace } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { u2oAllocation } from '../underlay/u2o-allocation.ts';
import type { Place } from './addresses.ts';
import { ordinalOf, parseAddresses, readPortRequest } from './port-request.ts';
import type { PortRequest } from './port-request.ts';
import { formerAddressOf, recordOfNode } from './records.ts';
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
   * Who has a right to the ports beyond this object: `statefulset/default/db`, `vm/default/one`. Equal to the uid for
   * objects that take their ports along.
   */
  readonly holder: string;
  readonly wants: readonly PortWant[];
  readonly namespace?: string;
}

function holderOf(view: View, pod: Pod): string {
  const machine = machineOf(pod);
  if (machine !== undefined) return `vm/${pod.namespace}/${machine}`;
  const set = `${pod.namespace}/${pod.owner?.name ?? ''}`;
  const isMember = ordinalOf(pod) !== undefined && view.statefulSets.get(set)?.uid === pod.owner?.uid;
  return isMember ? `statefulset/${set}` : pod.uid;
}

function podClaimant(view: View, pod: Pod): Claimant {
  const { uid, createdMs, namespace } = pod;
  const interfaces = interfacesOf(pod, view.attachments);
  const code = 'InvalidAnnotation';
  const message = 'annotation k8s.v1.cni.cncf.io/networks is neither a list of namespace/name@interface nor JSON';
  const wants = (interfaces ?? [defaultInterface]).map((network): PortWant => {
    const request = interfaces === undefined ? { problem: { code, message } } : readPortRequest(pod, network);
    return { port: portName(pod, network), interface: network, request };
  });
  return { uid, createdMs, name: podKey(pod), holder: holderOf(view, pod), wants, namespace };
}

/** Where a node was, as long as nobody else is there: one that is registered anew is found at its former address. */
function formerPlace(view: View, node: Node): Pick<PortRequest, 'addresses'> {
  const port = nodePortName(node.name);
  const { addresses = [] } = recordOfNode(view.ips.get(port), undefined) ?? formerAddressOf(node) ?? {};
  const isFree = addresses.every(({ family, value }) => {
    const pool = view.pool(joinSubnet)?.pool(family);
    return pool !== undefined && pool.refusal(port, value) === undefined;
  });
  return isFree && addresses.length > 0 ? { addresses } : {};
}

function nodeClaimant(view: View, node: Node): Claimant {
  const { uid, createdMs, name } = node;
  const request = { value: { subnets: [joinSubnet], ...formerPlace(view, node) } };
  const want = { port: nodePortName(name), interface: defaultInterface, request };
  return { uid, createdMs, name, holder: uid, wants: [want] };
}

function vipRequest({ spec }: Vip): PortWant['request'] {
  const text = [spec.v4ip, spec.v6ip].filter((part) => part !== '').join(',');
  const addresses = text === '' ? undefined : parseAddresses(text);
  if (text !== '' && addresses === undefined) {
    return {
      problem: { code: 'InvalidAddress', message: `spec.v4ip, spec.v6ip: '${text}' is no address of each family` },
    };
  }
  const families = addresses?.map(({ family }) => family);
  return {
    value: {
      subnets: [spec.subnet === '' ? defaultSubnet : spec.subnet],
      ...(addresses && families ? { addresses, families } : {}),
      ...(spec.macAddress === '' ? {} : { mac: spec.macAddress.toLowerCase() }),
    },
  };
}

function vipClaimant(vip: Vip): Claimant {
  const { uid, createdMs, name } = vip;
  const want = { port: vipPort(name), interface: defaultInterface, request: vipRequest(vip) };
  return { uid, createdMs, name, holder: uid, wants: [want] };
}

/** The querier of a switch that snoops multicast has an address of its own, for IGMP where there is IPv4. */
function querierClaimant(view: View, name: string): Claimant | undefined {
  const subnet = view.subnets.get(name);
  if (subnet?.spec.enableMulticastSnoop !== true || subnet.isDeleting) return undefined;
  const want = {
    port: querierPortName(name),
    interface: defaultInterface,
    request: { value: { subnets: [name], families: [subnet.spec.cidrBlock.includes('.') ? 4 : 6] as const } },
  };
  return { uid: subnet.uid, createdMs: subnet.createdMs, name, holder: subnet.uid, wants: [want] };
}

/** The router of an underlay subnet's VPC has an address of its own there, for as long as anybody else has one. */
function u2oClaimant(view: View, name: string): Claimant | undefined {
  const subnet = view.subnets.get(name);
  const verdict = view.verdicts.get(name);
  if (subnet === undefined || verdict === undefined || routingInForce(verdict.net) !== 'u2o') return undefined;
  const port = u2oPortName(verdict.vpc, name);
  const isLast = [...(view.pool(name)?.allocations().keys() ?? [])].every((other) => other === port);
  if (subnet.isDeleting && isLast) return undefined;
  const text = subnet.spec.u2oInterconnectionIP;
  const addresses = text === '' ? undefined : parseAddresses(text);
  // Pods have it in their neighbour tables: it stays when the addresses change.
  const mac = u2oAllocation(view, name)?.mac ?? deriveMac(routerMacSpace, routerSwitchPort(verdict.vpc, name));
  const request = {
    value: { subnets: [name], mac, isRouter: true, ...(addresses === undefined ? {} : { addresses }) },
  };
  const { uid, createdMs } = subnet;
  return { uid, createdMs, name, holder: uid, wants: [{ port, interface: defaultInterface, request }] };
}

/** The object behind a key that has a right to ports now. */
export function claimantOf(view: View, key: string): Claimant | undefined {
  const slash = key.indexOf('/');
  const [feature, name] = [key.slice(0, slash), key.slice(slash + 1)];
  if (feature === 'node') {
    const node = view.nodes.get(name);
    return node && nodeClaimant(view, node);
  }
  if (feature === 'vip') {
    const vip = view.vips.get(name);
    return vip === undefined || vip.isDeleting ? undefined : vipClaimant(vip);
  }
  if (feature === 'mcast') return querierClaimant(view, name);
  if (feature === 'u2o') return u2oClaimant(view, name);
  const pod = feature === 'pod' ? view.pods.get(name) : undefined;
  return pod !== undefined && wantsNetwork(pod) ? podClaimant(view, pod) : undefined;
}

/** Whether a port stays its holder's while none of the holder's pods is there. `pod` is the name of the last one. */
export function isKept(view: View, holder: string, pod: string): boolean {
  const slash = holder.indexOf('/');
  const [kind, name] = [holder.slice(0, slash), holder.slice(slash + 1)];
  if (kind === 'vm') {
    const [machine, instance] = [view.virtualMachines.get(name), view.virtualMachineInstances.get(name)];
    return [machine, instance].some((one) => one !== undefined && !one.isDeleting);
  }
  const set = kind === 'statefulset' ? view.statefulSets.get(name) : undefined;
  if (set === undefined || set.isDeleting) return false;
  const ordinal = Number(pod.slice(set.name.length + 1));
  return ordinal >= set.start && ordinal < set.start + set.replicas;
}

/** Subnets and IPPools to try for a port, in order, or what is wrong with those that were named. */
export function placesOf(
  view: View,
  { namespace }: Claimant,
  network: Interface,
  request: PortRequest,
): { readonly places: readonly Place[] } | { readonly problem: Problem } {
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
    const own = [...view.subnets.values()].filter(({ spec }) => spec.provider === network.provider).sort(byAge);
    if (own.length > 0) return { places: own.map(({ name }) => ({ subnet: name })) };
    const message = `no subnet has provider ${network.provider}, which the pod's attachment names: create one`;
    return { problem: { code: 'NoSubnet', message } };
  }
  const pools = view.boundPools(namespace);
  // Who asks for an address gets it wherever it lies.
  const isFree = pools.length === 0 || request.addresses !== undefined || request.candidates !== undefined;
  if (!isFree) return poolPlaces(view, pools);
  const bound = view.binding(namespace).subnets;
  if (bound.length > 0) return { places: bound.map((subnet) => ({ subnet })) };
  const message = `namespace ${namespace} belongs to a Vpc that has no subnet: create a Subnet in that Vpc`;
  return { problem: { code: 'NoSubnet', message } };
}

function poolPlaces(
  view: View,
  names: readonly string[],
): { readonly places: readonly Place[] } | { readonly problem: Problem } {
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

/** Whether an heir's wishes are met by what there is to inherit. A record without a MAC address leaves it open. */
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

/** Whether what is on record is what there is; a record without a MAC address leaves it open. */
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
