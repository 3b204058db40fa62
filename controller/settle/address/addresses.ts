/**
 * The allocations of all ports, from the pools of all subnets (`ipam/subnet-pool.ts`). In: verdicts on subnets, claims and
 * releases of ports. Out: allocations, or the problem of a claim. Called by `Ports` and `Cluster` only. Rule: a port keeps its
 * addresses until it is released.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains } from '../../../lib/net/cidr.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import type { PoolRanges } from '../../ipam/family-pool.ts';
import { SubnetPool } from '../../ipam/subnet-pool.ts';
import type { AddressRequest, Allocation, SubnetNet } from '../../ipam/subnet-pool.ts';
import type { ForeignPort } from '../../model/foreign-port.ts';
import type { Verdict } from '../../model/settled.ts';
import type { Capabilities } from '../../model/view.ts';
import type { Usage } from '../subnet/judge.ts';

export interface Claim extends Omit<AddressRequest, 'owner'> {
  readonly port: string;
  /** Subnets, and IPPools in them, in the order in which they are tried. */
  readonly places: readonly Place[];
}

/** Where to look for an address. */
export interface Place {
  readonly subnet: string;
  readonly pool?: string;
}

const families: readonly Family[] = [4, 6];

/** Ports with addresses that a subnet has at most where keys are short: OVN has 2047 for a switch, and those of routers and networks need some. */
export const mostPorts = 2000;

export class Addresses {
  readonly #pools = new Map<string, SubnetPool>();
  readonly #subnets = new Map<string, string>();
  readonly #hasShortKeys: boolean;

  constructor({ shortKeys = false }: Pick<Capabilities, 'shortKeys'> = {}) {
    this.#hasShortKeys = shortKeys;
  }

  pool(subnet: string): SubnetPool | undefined {
    return this.#pools.get(subnet);
  }

  allocation(port: string): Allocation | undefined {
    const subnet = this.#subnets.get(port);
    return subnet === undefined ? undefined : this.#pools.get(subnet)?.allocations().get(port);
  }

  usage(subnet: string, family: Family): Usage | undefined {
    const pool = this.#pools.get(subnet)?.pool(family);
    const intervals = pool?.used.intervals() ?? [];
    const [lowest, highest] = [intervals[0], intervals.at(-1)];
    if (pool === undefined || lowest === undefined || highest === undefined) return undefined;
    return { first: lowest.first, last: highest.last, has: (value) => pool.used.has(value) };
  }

  /** Sets the definition of a subnet's pool. Undefined removes the pool if it has no allocations. */
  define(subnet: string, net: SubnetNet | undefined, ranges: PoolRanges): void {
    const pool = this.#pools.get(subnet);
    if (net === undefined) {
      if (pool?.allocations().size === 0) this.#pools.delete(subnet);
      return;
    }
    const opened = pool ?? new SubnetPool(subnet, net);
    opened.redefine(net, ranges);
    this.#pools.set(subnet, opened);
  }

  /** Restores a recorded allocation. @returns the problem if another port has the addresses, or no port may have them */
  restore(
    port: string,
    record: { subnet: string; addresses: readonly Ip[]; mac?: string },
    { lender, isRouter = false }: { readonly lender?: string; readonly isRouter?: boolean } = {},
  ): Problem | undefined {
    const { subnet, addresses, mac } = record;
    const pool = this.#pools.get(subnet);
    if (pool === undefined) {
      return notInForce(subnet);
    }
    if (this.#subnets.has(port)) return undefined;
    // If the lender is gone, the port that uses the addresses becomes their owner.
    const isLent = lender !== undefined && pool.allocations().has(lender);
    const granted = pool.allocate({
      owner: port,
      addresses,
      families: addresses.map(({ family }) => family),
      ...(isLent ? { lender } : {}),
      ...(mac === undefined ? {} : { mac }),
      isRouter,
    });
    if ('problem' in granted) return granted.problem;
    this.#subnets.set(port, subnet);
    return undefined;
  }

  /**
   * Reserves the addresses that a foreign port uses: one of each family under the port's name, as a pod of that name would have them,
   * and each further address under a name of its own. @returns those names, and the problem if an address could not be reserved
   */
  withhold(
    port: string,
    { subnet, addresses, macs }: ForeignPort,
  ): { readonly names: readonly string[]; readonly problem?: Problem } {
    const pool = this.#pools.get(subnet);
    if (pool === undefined) return { names: [], problem: notInForce(subnet) };
    pool.withholdMacs(port, macs);
    const first = families.flatMap((family) => addresses.find((ip) => ip.family === family) ?? []);
    const [mac] = macs;
    const record = { subnet, addresses: first, ...(mac === undefined ? {} : { mac }) };
    const isWhole = first.length > 0 && this.restore(port, record) === undefined;
    const names: string[] = isWhole ? [port] : [];
    let problem: Problem | undefined;
    for (const [index, ip] of addresses.entries()) {
      if (isWhole && first.includes(ip)) continue;
      const name = `${port} (${index + 1})`;
      const refused = this.restore(name, { subnet, addresses: [ip] });
      if (refused === undefined) names.push(name);
      else if (refused.code !== 'AddressOutOfRange') problem ??= refused;
    }
    return { names, ...(problem === undefined ? {} : { problem }) };
  }

  /** Releases the MAC addresses of a foreign port that is gone or has changed. Its addresses are released one by one. */
  forgetMacs(port: string, subnet: string): void {
    this.#pools.get(subnet)?.withholdMacs(port, []);
  }

  /** Tries the places of the claim in order. @returns the problem if none of them has an address */
  claim(claim: Claim, verdicts: ReadonlyMap<string, Verdict>): Problem | undefined {
    let problem: Problem = { code: 'NoSubnet', message: `port ${claim.port} has no subnet to get an address from` };
    const refused = new Map<string, Problem>();
    const { places, port, ...request } = claim;
    for (const { subnet, pool } of placesWithRequested(places, claim, verdicts)) {
      const closed = closedProblem(subnet, verdicts.get(subnet)) ?? this.#tooManyPorts(subnet);
      const granted =
        closed === undefined
          ? this.#pools.get(subnet)?.allocate({ ...request, owner: port, ...(pool === undefined ? {} : { pool }) })
          : undefined;
      if (granted !== undefined && 'allocation' in granted) {
        this.#subnets.set(port, subnet);
        return undefined;
      }
      problem = closed ?? granted?.problem ?? problem;
      refused.set(problem.code, problem);
    }
    // A full subnet explains more than one that is not ready.
    return refused.get('NoAvailableAddress') ?? problem;
  }

  #tooManyPorts(subnet: string): Problem | undefined {
    const count = this.#pools.get(subnet)?.allocations().size ?? 0;
    if (!this.#hasShortKeys || count < mostPorts) return undefined;
    const message = `subnet ${subnet} has ${count} ports, and VXLAN has keys for ${mostPorts} (chart value networking.encapType): delete pods, or bind another subnet to the namespace`;
    return { code: 'NoAvailableAddress', message };
  }

  /** Adds an address of each family that the subnet has gained. @returns the problem if a family has no free address */
  complete(port: string): Problem | undefined {
    return this.#pools.get(this.#subnets.get(port) ?? '')?.complete(port);
  }

  /** Releases all addresses of the port. @returns the subnet of the port */
  release(port: string): string | undefined {
    const subnet = this.#subnets.get(port);
    this.#subnets.delete(port);
    if (subnet !== undefined) this.#pools.get(subnet)?.release(port);
    return subnet;
  }
}

function notInForce(subnet: string): Problem {
  const message = `subnet ${subnet} does not exist or is not in force: create or correct it`;
  return { code: 'SubnetNotReady', message };
}

function closedProblem(name: string, verdict: Verdict | undefined): Problem | undefined {
  if (verdict?.isOpen === true) return undefined;
  if (verdict === undefined) return { code: 'NoSubnet', message: `subnet ${name} does not exist` };
  const cause = verdict.problem === undefined ? 'it is being deleted' : verdict.problem.message;
  return { code: 'SubnetNotReady', message: `subnet ${name} gives no addresses: ${cause}` };
}

/** The places whose subnet contains the requested address; all places if there is none. */
function placesWithRequested(
  places: readonly Place[],
  claim: Claim,
  verdicts: ReadonlyMap<string, Verdict>,
): readonly Place[] {
  const asked: Ip | undefined = claim.addresses?.[0] ?? claim.candidates?.[0]?.[0];
  if (asked === undefined) return places;
  const near = places.filter(({ subnet }) => {
    const net = verdicts.get(subnet)?.net;
    return [net?.v4, net?.v6].some((part) => part !== undefined && cidrContains(part.cidr, asked));
  });
  return near.length === 0 ? places : near;
}
