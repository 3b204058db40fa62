/**
 * Which port has which address, over all subnets, and why a port has none. In: verdicts on subnets, requests and
 * releases of ports. Out: allocations. Called by `Ports` and `Cluster` only. The rule that must not be broken: a
 * port's addresses are its own until it is released.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains } from '../../../lib/net/cidr.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import type { PoolRanges } from '../../ipam/family-pool.ts';
import { SubnetPool } from '../../ipam/subnet-pool.ts';
import type { AddressRequest, Allocation, SubnetNet } from '../../ipam/subnet-pool.ts';
import type { ForeignPort } from '../../model/foreign-port.ts';
import type { Verdict } from '../../model/settled.ts';
import type { Usage } from '../subnet/judge.ts';

export interface Claim extends Omit<AddressRequest, 'owner'> {
  readonly port: string;
  /** Subnets, and IPPools in them, to try, in order. */
  readonly places: readonly Place[];
}

/** Where to look for an address. */
export interface Place {
  readonly subnet: string;
  readonly pool?: string;
}

const families: readonly Family[] = [4, 6];

export class Addresses {
  readonly #pools = new Map<string, SubnetPool>();
  readonly #subnets = new Map<string, string>();

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

  /** Makes the pool of a subnet what it is now; undefined closes it once nobody is in it. */
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

  /** Gives what is on record to whom it is on record for; what stands in the way where somebody else has it or nobody can. */
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
    // Of a lender that is gone the addresses are the port's own: it uses them.
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
   * Sets aside what a port of somebody else uses: an address of each family under its name, as a pod of that name would have them, the
   * others each under a name of its own. Gives those names, and why one of them is not set aside.
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

  /** A port of somebody else is gone, or uses others now: its addresses are released one by one. */
  forgetMacs(port: string, subnet: string): void {
    this.#pools.get(subnet)?.withholdMacs(port, []);
  }

  /** Tries the claim's places in turn; what stands in the way where none has an address. */
  claim(claim: Claim, verdicts: ReadonlyMap<string, Verdict>): Problem | undefined {
    let problem: Problem = { code: 'NoSubnet', message: `port ${claim.port} has no subnet to get an address from` };
    const refused = new Map<string, Problem>();
    const { places, port, ...request } = claim;
    for (const { subnet, pool } of around(places, claim, verdicts)) {
      const closed = closedProblem(subnet, verdicts.get(subnet));
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
    // Of several subnets the one that is full tells more than one that is not ready.
    return refused.get('NoAvailableAddress') ?? problem;
  }

  /** Gives a port an address of each family that its subnet has got since; why not, where there is none. */
  complete(port: string): Problem | undefined {
    return this.#pools.get(this.#subnets.get(port) ?? '')?.complete(port);
  }

  /** Gives everything of the port back; the subnet it was in. */
  release(port: string): string | undefined {
    const subnet = this.#subnets.get(port);
    this.#subnets.delete(port);
    if (subnet !== undefined) this.#pools.get(subnet)?.release(port);
    return subnet;
  }
}

function notInForce(subnet: string): Problem {
  const message = `subnet ${subnet} does not exist or is not in force: create or mend it`;
  return { code: 'SubnetNotReady', message };
}

function closedProblem(name: string, verdict: Verdict | undefined): Problem | undefined {
  if (verdict?.isOpen === true) return undefined;
  if (verdict === undefined) return { code: 'NoSubnet', message: `subnet ${name} does not exist` };
  const cause = verdict.problem === undefined ? 'it is being deleted' : verdict.problem.message;
  return { code: 'SubnetNotReady', message: `subnet ${name} gives no addresses: ${cause}` };
}

/** Who asks for an address is served by the subnet it lies in, where one of its subnets does. */
function around(places: readonly Place[], claim: Claim, verdicts: ReadonlyMap<string, Verdict>): readonly Place[] {
  const asked: Ip | undefined = claim.addresses?.[0] ?? claim.candidates?.[0]?.[0];
  if (asked === undefined) return places;
  const near = places.filter(({ subnet }) => {
    const net = verdicts.get(subnet)?.net;
    return [net?.v4, net?.v6].some((part) => part !== undefined && cidrContains(part.cidr, asked));
  });
  return near.length === 0 ? places : near;
}
