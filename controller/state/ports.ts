import { joinSubnet, nodePortName, podPortName } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { isOwnIp } from '../plan/ip-object.ts';
import type { View } from '../plan/view.ts';
import type { Addresses } from './addresses.ts';
import { byAge, podKey } from './objects.ts';
import type { IpObject, Node, Pod } from './objects.ts';
import { readPortRequest } from './port-request.ts';
import { recordOfNode, recordOfPod, reservationOf } from './records.ts';
import type { PortRecord } from './records.ts';

/** Holder of addresses that an IP object sets aside while no pod uses them. */
const reserved = 'reserved';

function wantsPort(pod: Pod): boolean {
  return !pod.isHostNetwork && !pod.isFinished && pod.node !== undefined;
}

function portOfKey(key: string): string {
  const [feature, first = '', second = ''] = key.split('/', 3);
  if (feature === 'pod') return podPortName(first, second);
  return feature === 'node' ? nodePortName(first) : first;
}

/**
 * Settles which ports have addresses: first everything that is to be given back, then, oldest first, everything
 * that is due. Who gets none waits here, and is tried again when an address or a subnet appears.
 */
export class Ports {
  readonly #view: View & { markUsage(subnet: string): void };
  readonly #addresses: Addresses;
  readonly #onChange: (key: string) => void;
  readonly #keys = new Map<string, string>();
  /** Who has no address, and why. */
  readonly #waiting = new Map<string, Problem>();
  #due = new Set<string>();

  constructor(view: View & { markUsage(subnet: string): void }, addresses: Addresses, onChange: (key: string) => void) {
    this.#view = view;
    this.#addresses = addresses;
    this.#onChange = onChange;
  }

  problem(key: string): Problem | undefined {
    return this.#waiting.get(key);
  }

  mark(key: string): void {
    this.#due.add(key);
  }

  markWaiting(): void {
    for (const key of this.#waiting.keys()) this.#due.add(key);
  }

  /** Keys of the ports with addresses of the subnet. */
  *keysIn(subnet: string): Generator<string> {
    for (const port of this.#view.pool(subnet)?.allocations().keys() ?? []) {
      const key = this.#keys.get(port);
      if (key !== undefined) yield key;
    }
  }

  /** Nodes, then pods whose IP object says the same, then the other pods by age: so a copied annotation loses. */
  restore(rows: ReadonlyMap<string, PortRecord>): void {
    for (const node of [...this.#view.nodes.values()].sort(byAge)) {
      const port = nodePortName(node.name);
      this.#restore(`node/${node.name}`, port, node.uid, recordOfNode(node, this.#view.ips.get(port), rows.get(port)));
    }
    const hasIp = (pod: Pod): number => (this.#view.ips.has(podPortName(pod.namespace, pod.name)) ? 0 : 1);
    const pods = [...this.#view.pods.values()].filter(wantsPort);
    for (const pod of pods.sort((a, b) => hasIp(a) - hasIp(b) || byAge(a, b))) {
      const port = podPortName(pod.namespace, pod.name);
      this.#restore(`pod/${podKey(pod)}`, port, pod.uid, recordOfPod(pod, this.#view.ips.get(port), rows.get(port)));
    }
    for (const ip of this.#view.ips.values()) this.#reserve(ip);
  }

  #restore(key: string, port: string, uid: string, record: PortRecord | undefined): void {
    if (record === undefined || this.#addresses.holder(port) !== undefined) return;
    const { subnet, ...rest } = record;
    if (this.#addresses.restore({ port, uid, subnets: [subnet], ...rest })) this.#given(key, port);
  }

  settle(): void {
    const due = this.#due;
    this.#due = new Set();
    let isFreed = false;
    for (const key of due) if (this.#release(key)) isFreed = true;
    if (isFreed) for (const key of this.#waiting.keys()) due.add(key);
    for (const key of [...due].sort((a, b) => this.#order(a, b))) this.#claim(key);
  }

  #order(a: string, b: string): number {
    const rank = (key: string): number => ['node', 'ip', 'pod'].indexOf(key.slice(0, key.indexOf('/')));
    const pod = (key: string): Pod | undefined => this.#view.pods.get(key.slice('pod/'.length));
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    const [first, second] = [pod(a), pod(b)];
    // Who is gone has nothing to claim, but must have a place for the others to be in order.
    if (first === undefined || second === undefined) return Number(first !== undefined) - Number(second !== undefined);
    return byAge(first, second);
  }

  /** The object that has a right to the port now. */
  #claimant(key: string): Pod | Node | undefined {
    const name = key.slice(key.indexOf('/') + 1);
    if (key.startsWith('node/')) return this.#view.nodes.get(name);
    const pod = this.#view.pods.get(name);
    return pod !== undefined && wantsPort(pod) ? pod : undefined;
  }

  #release(key: string): boolean {
    const port = portOfKey(key);
    if (key.startsWith('ip/')) return this.#releaseReservation(port);
    const claimant = this.#claimant(key);
    const holder = this.#addresses.holder(port);
    if (claimant === undefined) this.#waiting.delete(key);
    // Ports of a pod and of a node may have one name; who came second has nothing to give back.
    if (this.#keys.has(port) && this.#keys.get(port) !== key && holder !== reserved) return false;
    if (holder === undefined || holder === claimant?.uid) return false;
    const ip = this.#view.ips.get(port);
    if (ip !== undefined && !isOwnIp(ip)) {
      this.#addresses.passOn(port, claimant?.uid ?? reserved);
      this.#given(key, port);
      return false;
    }
    this.#free(key, port);
    return true;
  }

  #releaseReservation(port: string): boolean {
    const ip = this.#view.ips.get(port);
    if (this.#addresses.holder(port) !== reserved || (ip !== undefined && !isOwnIp(ip))) return false;
    this.#free(`ip/${port}`, port);
    return true;
  }

  #free(key: string, port: string): void {
    const subnet = this.#addresses.release(port);
    this.#keys.delete(port);
    if (subnet !== undefined) this.#view.markUsage(subnet);
    this.#onChange(key);
  }

  #claim(key: string): void {
    const port = portOfKey(key);
    const holder = this.#addresses.holder(port) === undefined ? undefined : this.#keys.get(port);
    if (holder === key) return;
    if (key.startsWith('ip/')) {
      const ip = this.#view.ips.get(port);
      if (ip !== undefined) this.#reserve(ip);
      return;
    }
    const claimant = this.#claimant(key);
    if (claimant === undefined) return;
    const problem = this.#claimFor(port, claimant, holder);
    if (problem === undefined) this.#given(key, port);
    else {
      this.#waiting.set(key, problem);
      this.#onChange(key);
    }
  }

  /** Gives the object what it asks for; what stands in the way. */
  #claimFor(port: string, claimant: Pod | Node, holder: string | undefined): Problem | undefined {
    if (holder !== undefined) {
      return { code: 'NameConflict', message: `the port name ${port} is taken by ${holder}: choose another name` };
    }
    const { uid } = claimant;
    const { verdicts } = this.#view;
    if (!('namespace' in claimant)) return this.#addresses.claim({ port, uid, subnets: [joinSubnet] }, verdicts);
    const request = readPortRequest(claimant);
    if ('problem' in request) return request.problem;
    const { subnets = this.#view.boundSubnets(claimant.namespace), ...rest } = request;
    return this.#addresses.claim({ port, uid, subnets, ...rest }, verdicts);
  }

  #given(key: string, port: string): void {
    this.#keys.set(port, key);
    this.#waiting.delete(key);
    const subnet = this.#addresses.allocation(port)?.subnet;
    if (subnet !== undefined) this.#view.markUsage(subnet);
    this.#onChange(key);
  }

  #reserve(ip: IpObject): void {
    const record = isOwnIp(ip) || this.#addresses.holder(ip.name) !== undefined ? undefined : reservationOf(ip);
    if (record === undefined) return;
    const { subnet, ...rest } = record;
    const isGiven = this.#addresses.restore({ port: ip.name, uid: reserved, subnets: [subnet], ...rest });
    if (isGiven) this.#given(`ip/${ip.name}`, ip.name);
  }
}
