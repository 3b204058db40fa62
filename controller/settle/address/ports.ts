/**
 * Settles which ports have addresses. Objects whose ports may have changed are marked as due. A settling first releases the ports that
 * due objects do not want any more, then allocates those that they want, by rank of the kind of object and oldest first. An object
 * without an address waits, and is due again when an address or a subnet becomes available.
 * Rule: a port has one holder, and keeps its addresses until that holder has no right to them any more.
 * The plans read the ports of their object from the view: those of a pod in `plan/pod/pod.ts`.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { ForeignPort } from '../../model/foreign-port.ts';
import { defaultInterface } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { IpObject } from '../../model/objects.ts';
import { vipPort } from '../../model/ovn-names.ts';
import type { HeldPort, View } from '../../model/view.ts';
import type { Addresses } from './addresses.ts';
import { agrees, placesOf, satisfies } from './claims.ts';
import type { Claimant, PortWant } from './claims.ts';
import { foreignPortHolder } from './holders/foreign-port.ts';
import { interfaceOf } from './holders/pod.ts';
import { claimantOf, holderOf, keptPorts, keyOf, rankOf, recordedPorts } from './holders/registry.ts';
import { reservationHolder } from './holders/reservation.ts';
import { isOwnIp } from './own-ip.ts';
import { recordOfIp } from './records.ts';
import type { PortRecord } from './records.ts';

/** Holder of addresses that an IP object reserves while no pod uses them. */
const reserved = 'reserved';
/** Holder of the addresses of foreign ports. */
const foreign = 'foreign';

interface Entry {
  readonly interface: Interface;
  readonly holder: string;
  /** The object that holds the port, or was its last holder. */
  readonly uid: string;
  /** Keys of the objects that have the port. */
  readonly keys: readonly string[];
}

export interface PortsOptions {
  readonly view: View;
  readonly addresses: Addresses;
  /** An object's ports changed, or the reason why it has none. */
  readonly onChange: (key: string) => void;
  readonly onUsage: (subnet: string) => void;
  /** A port has no addresses any more. */
  readonly onFree: (port: string) => void;
}

export class Ports {
  readonly #options: PortsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #ports = new Map<string, readonly string[]>();
  /** Keys of objects that wait for an address, with the reason. */
  readonly #waiting = new Map<string, Problem>();
  readonly #foreign = new Map<string, ForeignPort>();
  #due = new Set<string>();

  constructor(options: PortsOptions) {
    this.#options = options;
  }

  problem(key: string): Problem | undefined {
    return this.#waiting.get(key);
  }

  get isDue(): boolean {
    return this.#due.size > 0;
  }

  isHeld(port: string): boolean {
    return this.#entries.has(port);
  }

  held(key: string): readonly HeldPort[] {
    const held = (this.#ports.get(key) ?? []).flatMap((port): HeldPort[] => {
      const entry = this.#entries.get(port);
      const allocation = this.#options.addresses.allocation(port);
      if (entry === undefined || allocation === undefined) return [];
      return [{ port, interface: entry.interface, allocation, sharers: entry.keys }];
    });
    const rank = ({ interface: { isDefault } }: HeldPort): number => (isDefault ? 0 : 1);
    return held.length < 2 ? held : held.sort((a, b) => rank(a) - rank(b) || (a.port < b.port ? -1 : 1));
  }

  mark(key: string): void {
    this.#due.add(key);
  }

  markWaiting(): void {
    for (const key of this.#waiting.keys()) this.#due.add(key);
  }

  /** Marks the ports of a holder that outlives its pods. */
  markHolder(holder: string): void {
    for (const entry of this.#entries.values()) {
      if (entry.holder === holder) for (const key of entry.keys) this.#due.add(key);
    }
  }

  /** Keys of the objects with addresses of the subnet. */
  *keysIn(subnet: string): Generator<string> {
    for (const port of this.#options.view.pool(subnet)?.allocations().keys() ?? []) {
      yield* this.#entries.get(port)?.keys ?? [];
    }
  }

  /** Sets what a port of another program uses; undefined if the port is gone. */
  setForeign(port: string, uses: ForeignPort | undefined): void {
    const before = this.#foreign.get(port);
    if (before !== undefined) this.#options.addresses.forgetMacs(port, before.subnet);
    if (uses === undefined) this.#foreign.delete(port);
    else this.#foreign.set(port, uses);
    this.#due.add(keyOf(foreignPortHolder, port));
  }

  /** Restores allocations from records; `rows` are ports of the database, by name. */
  restore(rows: ReadonlyMap<string, PortRecord>): void {
    const { view, addresses } = this.#options;
    for (const { key, port, record } of recordedPorts(view, rows)) this.#restore(key, port, record);
    for (const { key, port, record, holder, interface: network } of keptPorts(view)) {
      if (this.#entries.has(port) || addresses.restore(port, record) !== undefined) continue;
      this.#enter(key, port, { holder, uid: '', keys: [key], interface: network });
    }
    for (const ip of view.ips.values()) this.#reserve(ip);
    for (const port of this.#foreign.keys()) this.#withhold(port);
  }

  /** Reserves the free addresses of a foreign port. @returns the problem if one of its addresses is not free */
  #withhold(port: string): Problem | undefined {
    const uses = this.#foreign.get(port);
    const key = keyOf(foreignPortHolder, port);
    // If a pod of this name was created, the port is about to become the pod's.
    if (uses === undefined || (this.#entries.get(port)?.holder ?? foreign) !== foreign) return undefined;
    const { names, problem } = this.#options.addresses.withhold(port, uses);
    for (const name of names)
      if (!this.#entries.has(name))
        this.#enter(key, name, { holder: foreign, uid: foreign, keys: [key], interface: defaultInterface });
    return problem;
  }

  #restore(key: string, port: string, record: PortRecord): void {
    const claimant = claimantOf(this.#options.view, key);
    const want = claimant?.wants.find((one) => one.port === port);
    if (claimant === undefined || want === undefined) return;
    if (this.#entries.has(port)) {
      this.#share(key, port, claimant);
      return;
    }
    const { vip, isRouter = false } = 'value' in want.request ? want.request.value : {};
    const rights = vip === undefined ? { isRouter } : { isRouter, lender: vipPort(vip) };
    if (this.#options.addresses.restore(port, record, rights) !== undefined) return;
    this.#enter(key, port, { ...claimant, keys: [key], interface: want.interface });
  }

  settle(): void {
    const due = new Set<string>();
    let isFreed = false;
    // A release may wait for another release.
    while (this.#due.size > 0) {
      const next = this.#due;
      this.#due = new Set();
      for (const key of next) {
        due.add(key);
        if (this.#release(key)) isFreed = true;
      }
    }
    if (isFreed) for (const key of this.#waiting.keys()) due.add(key);
    const claims = [...due].map((key) => ({ key, claimant: claimantOf(this.#options.view, key) }));
    for (const { key, claimant } of claims.sort(inOrder)) {
      // The requested address may have been allocated to the previous claimant.
      const requestsInTurn = holderOf(key).kind?.requestsInTurn === true;
      this.#claim(key, requestsInTurn ? claimantOf(this.#options.view, key) : claimant);
    }
  }

  /** @returns whether an address became free */
  #release(key: string): boolean {
    const { kind, name } = holderOf(key);
    if (kind === reservationHolder) return this.#releaseReservation(name);
    const claimant = claimantOf(this.#options.view, key);
    if (claimant === undefined) this.#waiting.delete(key);
    let isFreed = false;
    for (const port of this.#ports.get(key) ?? []) {
      const entry = this.#entries.get(port);
      if (entry !== undefined && this.#releasePort(key, port, entry, claimant)) isFreed = true;
    }
    return isFreed;
  }

  /** Releases the port of an object that has no right to it any more. @returns whether an address became free */
  #releasePort(key: string, port: string, entry: Entry, claimant: Claimant | undefined): boolean {
    const { view, addresses, onChange } = this.#options;
    const { kind, name } = holderOf(key);
    const want = claimant?.wants.find((one) => one.port === port);
    if (claimant !== undefined && want !== undefined) {
      const { uid, holder } = claimant;
      const isMoved = kind?.followsRequest === true && !satisfies(want.request, addresses.allocation(port));
      const isSame = (uid === entry.uid && !isMoved) || entry.keys.length > 1;
      const isHeir = holder === entry.holder && satisfies(want.request, addresses.allocation(port));
      if (isSame || isHeir) {
        if (entry.uid !== uid) onChange(key);
        this.#entries.set(port, { ...entry, uid, holder });
        return false;
      }
    }
    if (entry.keys.length > 1) {
      this.#unshare(key, port, entry);
      return false;
    }
    if (want === undefined && kind?.isKept?.(view, entry.holder, name) === true) {
      onChange(key);
      return false;
    }
    // Ports that share this address must release it first.
    if (view.pool(addresses.allocation(port)?.subnet ?? '')?.isLent(port) === true) return false;
    const ip = view.ips.get(port);
    if (ip !== undefined && !isOwnIp(ip) && kind?.leavesReservation === true) {
      this.#forget(key, port);
      const reservation = keyOf(reservationHolder, port);
      this.#enter(reservation, port, { ...entry, holder: reserved, uid: reserved, keys: [reservation] });
      onChange(key);
      return false;
    }
    this.#free(key, port);
    return true;
  }

  #releaseReservation(port: string): boolean {
    const { view, addresses } = this.#options;
    const ip = view.ips.get(port);
    if (this.#entries.get(port)?.holder !== reserved) return false;
    if (ip !== undefined && !isOwnIp(ip) && agrees(recordOfIp(ip), addresses.allocation(port))) return false;
    this.#free(keyOf(reservationHolder, port), port);
    return true;
  }

  #free(key: string, port: string): void {
    const { addresses, onChange, onUsage, onFree, view } = this.#options;
    const lender = view.pool(addresses.allocation(port)?.subnet ?? '')?.lenderOf(port);
    const subnet = addresses.release(port);
    this.#forget(key, port);
    this.#entries.delete(port);
    if (subnet !== undefined) onUsage(subnet);
    // A deleted Vip waits until nothing uses its address. Its port has the name of its key.
    if (lender !== undefined) this.#due.add(lender);
    onChange(key);
    onFree(port);
  }

  #claim(key: string, claimant: Claimant | undefined): void {
    const { kind, name } = holderOf(key);
    if (kind === reservationHolder) {
      const ip = this.#options.view.ips.get(name);
      this.#wait(key, ip && this.#reserve(ip));
      return;
    }
    if (kind === foreignPortHolder) {
      this.#wait(key, this.#withhold(name));
      return;
    }
    if (claimant === undefined) return;
    let problem: Problem | undefined;
    for (const want of claimant.wants) problem ??= this.#claimPort(key, claimant, want);
    this.#wait(key, problem);
  }

  #wait(key: string, problem: Problem | undefined): void {
    const before = this.#waiting.get(key);
    if (problem === undefined) this.#waiting.delete(key);
    else this.#waiting.set(key, problem);
    if (problem?.message === before?.message) return;
    this.#options.onChange(key);
    // The pod may wait for the addresses that the IP object reserves for it.
    if (holderOf(key).kind === reservationHolder) this.markWaiting();
  }

  #claimPort(key: string, claimant: Claimant, want: PortWant): Problem | undefined {
    const { view, addresses } = this.#options;
    const before = this.#entries.get(want.port);
    const isUnfit = before?.holder === foreign && !satisfies(want.request, addresses.allocation(want.port));
    if (isUnfit) this.#free(keyOf(foreignPortHolder, want.port), want.port);
    const entry = isUnfit ? undefined : before;
    if (entry?.keys.includes(key) === true) return this.#complete(key, want.port);
    if (entry?.holder === claimant.holder) {
      this.#share(key, want.port, claimant);
      return undefined;
    }
    const obstacle = this.#reservationProblem(want, entry);
    if (obstacle !== undefined) return obstacle;
    if (entry?.holder === reserved || entry?.holder === foreign) {
      for (const other of entry.keys) this.#forget(other, want.port);
    } else if (entry !== undefined) {
      const message = `the port name ${want.port} is taken by ${entry.keys.join(', ')}: choose another name`;
      return { code: 'NameConflict', message };
    } else {
      if ('problem' in want.request) return want.request.problem;
      const { subnets: _, pools: __, vip, ...rest } = want.request.value;
      const found = placesOf(view, claimant, want.interface, want.request.value);
      if ('problem' in found) return found.problem;
      const lender = vip === undefined ? {} : { lender: vipPort(vip) };
      const problem = addresses.claim({ port: want.port, places: found.places, ...rest, ...lender }, view.verdicts);
      if (problem !== undefined) return problem;
    }
    this.#enter(key, want.port, { ...claimant, keys: [key], interface: want.interface });
    return undefined;
  }

  /** Adds the families that the subnet has gained to a holder that follows its subnet. */
  #complete(key: string, port: string): Problem | undefined {
    const { addresses, view, onChange, onUsage } = this.#options;
    const before = addresses.allocation(port);
    if (
      holderOf(key).kind?.followsSubnet !== true ||
      before === undefined ||
      view.verdicts.get(before.subnet)?.isOpen !== true
    )
      return undefined;
    const problem = addresses.complete(port);
    if (addresses.allocation(port) === before) return problem;
    onUsage(before.subnet);
    onChange(key);
    return problem;
  }

  /** Why a port does not get the addresses that an IP object reserves for it. */
  #reservationProblem({ port, request }: PortWant, entry: Entry | undefined): Problem | undefined {
    const unmet = this.#waiting.get(keyOf(reservationHolder, port));
    if (entry === undefined && unmet !== undefined) {
      const message = `the IP object ${port} cannot reserve an address for this port: ${unmet.message}; correct or delete it`;
      return { code: unmet.code, message };
    }
    if (entry?.holder !== reserved) return undefined;
    if ('problem' in request) return request.problem;
    if (satisfies(request, this.#options.addresses.allocation(port))) return undefined;
    const message = `the IP object ${port} reserves another address, MAC address or subnet than the annotations request: change one of the two`;
    return { code: 'AddressConflict', message };
  }

  /** Reserves the addresses of an IP object. @returns the problem if that is not possible */
  #reserve(ip: IpObject): Problem | undefined {
    if (isOwnIp(ip) || this.#entries.has(ip.name)) return undefined;
    const record = recordOfIp(ip);
    if (record === undefined) {
      const message = 'spec.subnet, spec.v4IpAddress, spec.v6IpAddress: name a subnet and an address in it';
      return { code: 'InvalidAddress', message };
    }
    const problem = this.#options.addresses.restore(ip.name, record);
    if (problem !== undefined) return problem;
    const key = keyOf(reservationHolder, ip.name);
    this.#enter(key, ip.name, { holder: reserved, uid: reserved, keys: [key], interface: interfaceOf(ip) });
    return undefined;
  }

  #enter(key: string, port: string, { holder, uid, keys, interface: network }: Entry): void {
    const { addresses, onChange, onUsage } = this.#options;
    this.#entries.set(port, { holder, uid, keys, interface: network });
    this.#addPort(key, port);
    const subnet = addresses.allocation(port)?.subnet;
    if (subnet !== undefined) onUsage(subnet);
    onChange(key);
  }

  #share(key: string, port: string, { uid }: Claimant): void {
    const entry = this.#entries.get(port);
    if (entry === undefined || entry.keys.includes(key)) return;
    const gone = entry.keys.filter((other) => claimantOf(this.#options.view, other) === undefined);
    for (const other of gone) this.#forget(other, port);
    const keys = [...entry.keys.filter((other) => !gone.includes(other)), key];
    this.#entries.set(port, { ...entry, uid, keys });
    this.#addPort(key, port);
    for (const one of [...gone, ...keys]) this.#options.onChange(one);
  }

  #unshare(key: string, port: string, entry: Entry): void {
    const keys = entry.keys.filter((other) => other !== key);
    this.#forget(key, port);
    const uid = claimantOf(this.#options.view, keys[0] ?? '')?.uid ?? entry.uid;
    this.#entries.set(port, { ...entry, uid, keys });
    for (const one of [key, ...keys]) this.#options.onChange(one);
  }

  /** Nearly every key has one port. An array that was grown by `push` would reserve room for sixteen more. */
  #addPort(key: string, port: string): void {
    const before = this.#ports.get(key);
    this.#ports.set(key, before === undefined ? [port] : [...before, port]);
  }

  #forget(key: string, port: string): void {
    const rest = (this.#ports.get(key) ?? []).filter((other) => other !== port);
    if (rest.length === 0) this.#ports.delete(key);
    else this.#ports.set(key, rest);
  }
}

interface Due {
  readonly key: string;
  readonly claimant: Claimant | undefined;
}

/** By rank, then age. A deleted object claims nothing, but needs a place in the order for the sort to be consistent. */
function inOrder(a: Due, b: Due): number {
  const rank = rankOf(a.key) - rankOf(b.key);
  if (rank !== 0) return rank;
  const [first, second] = [a.claimant, b.claimant];
  if (first === undefined || second === undefined) return Number(first !== undefined) - Number(second !== undefined);
  if (first.createdMs !== second.createdMs) return first.createdMs - second.createdMs;
  return first.name < second.name ? -1 : Number(first.name > second.name);
}
