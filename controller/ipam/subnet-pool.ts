/** Allocates the addresses of one subnet, of both families at once. Called by `settle/address`. Pure, like the pools of its families. */
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import { deriveMac } from '../../lib/net/mac.ts';
import type { Family, Ip } from '../../lib/net/ip.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { FamilyPool } from './family-pool.ts';
import type { FamilyNet, PoolRanges, Refusal } from './family-pool.ts';

/** The network of a subnet; at least one family. */
export interface SubnetNet {
  readonly v4?: FamilyNet;
  readonly v6?: FamilyNet;
}

/** The addresses of a port, as canonical texts. */
export interface Allocation {
  readonly subnet: string;
  readonly v4?: string;
  readonly v6?: string;
  readonly mac: string;
}

export interface AddressRequest {
  /** The port's name; an owner has one allocation in a subnet. */
  readonly owner: string;
  /** Addresses that the port must get, at most one of each family. */
  readonly addresses?: readonly Ip[];
  /** Sets of addresses; the first free set is allocated. */
  readonly candidates?: readonly (readonly Ip[])[];
  /** The IPPool to allocate from. If absent, the part of the subnet outside all IPPools. */
  readonly pool?: string;
  /** The owner whose addresses the port shares instead of getting its own. */
  readonly lender?: string;
  readonly mac?: string;
  /** Whether the MAC address is that of the subnet's router, whose port already has it. */
  readonly isRouter?: boolean;
  /** Families to allocate. If absent, all families of the subnet. */
  readonly families?: readonly Family[];
}

export type Granted = { readonly allocation: Allocation } | { readonly problem: Problem };

const families: readonly Family[] = [4, 6];
/** First octet of the MAC addresses derived for ports. Ports of routers have another. */
const portMacSpace = 0x0a;

export class SubnetPool {
  readonly name: string;
  #pools = new Map<Family, FamilyPool>();
  #macs = new Map<string, string>();
  #allocations = new Map<string, Allocation>();
  #ranges: PoolRanges = new Map();
  /** MAC addresses of ports that get no allocation here, with the port's name. */
  readonly #foreignMacs = new Map<string, string>();
  /** The lender of each owner that shares addresses. */
  #lenders = new Map<string, string>();

  constructor(name: string, net: SubnetNet) {
    this.name = name;
    this.redefine(net);
  }

  /** Sets the definition. A removed family keeps its pool while its addresses are in use. */
  redefine(net: SubnetNet, ranges: PoolRanges = this.#ranges): void {
    this.#ranges = ranges;
    for (const family of families) {
      const wanted = family === 4 ? net.v4 : net.v6;
      const pool = this.#pools.get(family);
      if (wanted === undefined) {
        if (pool?.used.count === 0n) this.#pools.delete(family);
      } else if (pool === undefined) this.#pools.set(family, new FamilyPool(wanted, ranges));
      else pool.redefine(wanted, ranges);
    }
  }

  pool(family: Family): FamilyPool | undefined {
    return this.#pools.get(family);
  }

  /** Allocations by port, in the order of allocation. */
  allocations(): ReadonlyMap<string, Allocation> {
    return this.#allocations;
  }

  /** The lender whose addresses the owner shares. */
  lenderOf(owner: string): string | undefined {
    return this.#lenders.get(owner);
  }

  /** Whether another port shares the owner's addresses. */
  isLent(owner: string): boolean {
    return [...this.#lenders.values()].includes(owner);
  }

  /** Adds an address of each family that the owner's allocation lacks. @returns the problem if a family has no free address */
  complete(owner: string): Problem | undefined {
    const held = this.#allocations.get(owner);
    if (held === undefined || this.#lenders.has(owner)) return undefined;
    for (const family of families) {
      const [pool, key] = [this.#pools.get(family), family === 4 ? 'v4' : 'v6'] as const;
      if (pool === undefined || held[key] !== undefined) continue;
      const value = pool.take(owner, undefined);
      if (value === undefined) return this.#refused(undefined, family, undefined, undefined);
      this.#allocations.set(owner, { ...held, [key]: formatIp({ family, value }) });
    }
    return undefined;
  }

  /** Allocates all requested addresses or none. An existing allocation is kept. */
  allocate(request: AddressRequest): Granted {
    const held = this.#allocations.get(request.owner);
    if (held !== undefined) return { allocation: held };
    if (request.lender !== undefined) return this.#borrow(request, request.lender);
    if (request.candidates !== undefined) return this.#choose(request, request.candidates);
    const wanted = families.filter((family) => this.#isWanted(family, request));
    const refusal = this.#refusalOf(request, wanted);
    if (refusal !== undefined) return { problem: refusal };
    const taken: Ip[] = [];
    for (const family of wanted) {
      const pool = this.#pools.get(family);
      if (pool === undefined) continue;
      const asked = request.addresses?.find((ip) => ip.family === family);
      const code = asked === undefined ? undefined : pool.claim(request.owner, asked.value);
      const value = asked === undefined ? pool.take(request.owner, request.pool) : asked.value;
      if (value === undefined || code !== undefined) {
        for (const ip of taken) this.#pools.get(ip.family)?.release(ip.value);
        return { problem: this.#refused(code, family, asked, request.pool) };
      }
      taken.push({ family, value });
    }
    return { allocation: this.#record(request, taken) };
  }

  /** An IPPool with one family allocates addresses of that family only. */
  #isWanted(family: Family, request: AddressRequest): boolean {
    const pool = this.#pools.get(family);
    if (pool === undefined) return false;
    if (request.families !== undefined) return request.families.includes(family);
    return request.pool === undefined || !pool.isEmpty(request.pool) || this.#isEmptyPool(request.pool);
  }

  /** Whether the IPPool has no address of any family. */
  #isEmptyPool(ipPool: string): boolean {
    return [...this.#pools.values()].every((pool) => pool.isEmpty(ipPool));
  }

  #choose(request: AddressRequest, candidates: readonly (readonly Ip[])[]): Granted {
    const { candidates: _, ...rest } = request;
    let problem: Problem | undefined;
    for (const addresses of candidates) {
      const taken = addresses.find((ip) => this.#pools.get(ip.family)?.refusal(request.owner, ip.value) !== undefined);
      const granted = taken === undefined ? this.allocate({ ...rest, addresses }) : undefined;
      if (granted !== undefined && 'allocation' in granted) return granted;
      problem = granted?.problem ?? this.#refused('AddressConflict', taken?.family ?? 4, taken, undefined);
    }
    if (candidates.length === 1 && problem !== undefined) return { problem };
    return {
      problem: {
        code: 'NoAvailableAddress',
        message: `none of the ${candidates.length} requested addresses is free in subnet ${this.name}`,
      },
    };
  }

  /** One borrower at a time: two ports with the same addresses would conflict on the wire. */
  #borrow(request: AddressRequest, lender: string): Granted {
    const lent = this.#allocations.get(lender);
    if (lent === undefined) {
      return {
        problem: { code: 'NoAvailableAddress', message: `${lender} has no address in subnet ${this.name} yet` },
      };
    }
    const other = [...this.#lenders].find(([, from]) => from === lender)?.[0];
    if (other !== undefined) {
      return { problem: { code: 'AddressConflict', message: `the address of ${lender} is used by ${other}` } };
    }
    this.#allocations.set(request.owner, lent);
    this.#lenders.set(request.owner, lender);
    return { allocation: lent };
  }

  /** Checks the request without allocating anything. */
  #refusalOf(request: AddressRequest, wanted: readonly Family[]): Problem | undefined {
    if (wanted.length === 0) {
      return { code: 'InvalidIPFamily', message: `subnet ${this.name} has no addresses of the requested IP family` };
    }
    const stray = request.addresses?.find((ip) => !wanted.includes(ip.family));
    if (stray !== undefined) return this.#refused('AddressOutOfRange', stray.family, stray, undefined);
    // The requested address is checked first, so that a restart reports the same reason whichever ports were created meanwhile.
    for (const ip of request.addresses ?? []) {
      const code = this.#pools.get(ip.family)?.refusal(request.owner, ip.value);
      if (code !== undefined) return this.#refused(code, ip.family, ip, undefined);
    }
    // Checked before anything is allocated, so that a port that retries does not use up addresses of the other family.
    const full = wanted.find((family) => {
      const isAsked = request.addresses?.some((ip) => ip.family === family) ?? false;
      return !isAsked && this.#pools.get(family)?.availableIn(request.pool) === 0n;
    });
    if (full !== undefined) return this.#refused(undefined, full, undefined, request.pool);
    const { mac, isRouter } = request;
    const holder = mac === undefined ? undefined : isRouter === true ? this.#macs.get(mac) : this.#macHolder(mac);
    if (holder === undefined || holder === request.owner) return undefined;
    return {
      code: 'AddressConflict',
      message: `MAC address ${request.mac} in subnet ${this.name} is used by ${holder}`,
    };
  }

  #refused(code: Refusal | undefined, family: Family, asked: Ip | undefined, ipPool: string | undefined): Problem {
    if (asked === undefined || code === undefined) {
      const place = ipPool === undefined ? `subnet ${this.name}` : `IPPool ${ipPool} of subnet ${this.name}`;
      return {
        code: 'NoAvailableAddress',
        message: `${place} has no free IPv${family} address: delete pods, enlarge it, or bind another one to the namespace`,
      };
    }
    const text = formatIp(asked);
    if (code === 'AddressOutOfRange')
      return { code, message: `address ${text} is not a host address of subnet ${this.name}` };
    const pool = this.#pools.get(family);
    const holder =
      pool?.net.gateway === asked.value
        ? 'the gateway of the subnet'
        : pool?.net.withheld?.includes(asked.value) === true
          ? 'a former gateway of the subnet, which pods still use'
          : pool?.net.foreign?.includes(asked.value) === true
            ? 'that of a node'
            : `used by ${pool?.owner(asked.value) ?? 'another port'}`;
    return { code, message: `address ${text} in subnet ${this.name} is ${holder}` };
  }

  #record(request: AddressRequest, taken: readonly Ip[]): Allocation {
    const v4 = taken.find((ip) => ip.family === 4);
    const v6 = taken.find((ip) => ip.family === 6);
    const allocation: Allocation = {
      subnet: this.name,
      ...(v4 === undefined ? {} : { v4: formatIp(v4) }),
      ...(v6 === undefined ? {} : { v6: formatIp(v6) }),
      mac: request.mac ?? this.#deriveMac(taken),
    };
    this.#macs.set(allocation.mac, request.owner);
    this.#allocations.set(request.owner, allocation);
    return allocation;
  }

  /** Derived from the address, so that neighbours have nothing to relearn when another port gets the address. */
  #deriveMac(taken: readonly Ip[]): string {
    const seed = `${this.name}/${taken.map(formatIp).join(',')}`;
    for (let attempt = 0; ; attempt += 1) {
      const mac = deriveMac(portMacSpace, attempt === 0 ? seed : `${seed}/${attempt}`);
      if (this.#macHolder(mac) === undefined) return mac;
    }
  }

  #macHolder(mac: string): string | undefined {
    return this.#macs.get(mac) ?? this.#foreignMacs.get(mac);
  }

  /** Withholds these MAC addresses for a port without an allocation here, and no others. A port that already has one of them keeps it. */
  withholdMacs(port: string, macs: readonly string[]): void {
    for (const [mac, holder] of this.#foreignMacs) if (holder === port) this.#foreignMacs.delete(mac);
    for (const mac of macs) this.#foreignMacs.set(mac, port);
  }

  release(owner: string): void {
    const allocation = this.#allocations.get(owner);
    if (allocation === undefined) return;
    this.#allocations.delete(owner);
    if (this.#lenders.delete(owner)) return;
    for (const text of [allocation.v4, allocation.v6]) {
      const ip = text === undefined ? undefined : parseIp(text);
      if (ip !== undefined) this.#pools.get(ip.family)?.release(ip.value);
    }
    this.#macs.delete(allocation.mac);
  }
}
