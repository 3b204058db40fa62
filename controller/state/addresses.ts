/**
 * Who has which address, over all subnets: one allocation for each port, and why a port has none. In: verdicts on
 * subnets, requests and releases of ports. Out: allocations. Called by `Cluster` only. The rule that must not be
 * broken: a port's addresses are its own until it is released.
 */
import { SubnetPool } from '../ipam/subnet-pool.ts';
import type { AddressRequest, Allocation, SubnetNet } from '../ipam/subnet-pool.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { cidrContains } from '../../lib/net/cidr.ts';
import type { Family, Ip } from '../../lib/net/ip.ts';
import type { Usage, Verdict } from '../plan/judge.ts';

export interface Claim extends Omit<AddressRequest, 'owner'> {
  readonly port: string;
  /** The object the port belongs to; another one of the same name is another claimant. */
  readonly uid: string;
  /** Subnets to try, in order. */
  readonly subnets: readonly string[];
}

export class Addresses {
  readonly #pools = new Map<string, SubnetPool>();
  readonly #subnets = new Map<string, string>();
  readonly #holders = new Map<string, string>();

  pool(subnet: string): SubnetPool | undefined {
    return this.#pools.get(subnet);
  }

  allocation(port: string): Allocation | undefined {
    const subnet = this.#subnets.get(port);
    return subnet === undefined ? undefined : this.#pools.get(subnet)?.allocations().get(port);
  }

  /** The object that holds the port's addresses. */
  holder(port: string): string | undefined {
    return this.#holders.get(port);
  }

  usage(subnet: string, family: Family): Usage | undefined {
    const pool = this.#pools.get(subnet)?.pool(family);
    const intervals = pool?.used.intervals() ?? [];
    const [lowest, highest] = [intervals[0], intervals.at(-1)];
    if (pool === undefined || lowest === undefined || highest === undefined) return undefined;
    return { first: lowest.first, last: highest.last, has: (value) => pool.used.has(value) };
  }

  /** Makes the pool of a subnet what it is now; undefined closes it once nobody is in it. */
  define(subnet: string, net: SubnetNet | undefined): void {
    const pool = this.#pools.get(subnet);
    if (net === undefined) {
      if (pool?.allocations().size === 0) this.#pools.delete(subnet);
    } else if (pool === undefined) this.#pools.set(subnet, new SubnetPool(subnet, net));
    else pool.redefine(net);
  }

  /** Gives what is on record to whom it is on record for; false where somebody else has it or nobody can. */
  restore(claim: Claim): boolean {
    const [subnet = ''] = claim.subnets;
    const pool = this.#pools.get(subnet);
    if (pool === undefined || this.#subnets.has(claim.port)) return pool !== undefined;
    const { addresses, mac } = claim;
    const families = addresses?.map(({ family }) => family);
    const granted = pool.allocate({
      owner: claim.port,
      ...(addresses && families ? { addresses, families } : {}),
      ...(mac === undefined ? {} : { mac }),
    });
    if ('problem' in granted) return false;
    this.#hold(claim, subnet);
    return true;
  }

  /** Tries the claim's subnets in turn; what stands in the way where none has an address. */
  claim(claim: Claim, verdicts: ReadonlyMap<string, Verdict>): Problem | undefined {
    let problem: Problem = { code: 'NoSubnet', message: `port ${claim.port} has no subnet to get an address from` };
    const refused = new Map<string, Problem>();
    for (const name of subnetsFor(claim, verdicts)) {
      const closed = closedProblem(name, verdicts.get(name));
      const granted =
        closed === undefined ? this.#pools.get(name)?.allocate({ ...claim, owner: claim.port }) : undefined;
      if (granted !== undefined && 'allocation' in granted) {
        this.#hold(claim, name);
        return undefined;
      }
      problem = closed ?? granted?.problem ?? problem;
      refused.set(problem.code, problem);
    }
    // Of several subnets the one that is full tells more than one that is not ready.
    return refused.get('NoAvailableAddress') ?? problem;
  }

  #hold(claim: Claim, subnet: string): void {
    this.#subnets.set(claim.port, subnet);
    this.#holders.set(claim.port, claim.uid);
  }

  /** The port is another object's from now on, with the addresses it has. */
  passOn(port: string, uid: string): void {
    if (this.#subnets.has(port)) this.#holders.set(port, uid);
  }

  /** Gives everything of the port back; the subnet it was in. */
  release(port: string): string | undefined {
    const subnet = this.#subnets.get(port);
    this.#holders.delete(port);
    this.#subnets.delete(port);
    if (subnet !== undefined) this.#pools.get(subnet)?.release(port);
    return subnet;
  }
}

function closedProblem(name: string, verdict: Verdict | undefined): Problem | undefined {
  if (verdict?.isOpen === true) return undefined;
  if (verdict === undefined) return { code: 'NoSubnet', message: `subnet ${name} does not exist` };
  const cause = verdict.problem === undefined ? 'it is being deleted' : verdict.problem.message;
  return { code: 'SubnetNotReady', message: `subnet ${name} gives no addresses: ${cause}` };
}

/** Who asks for an address is served by the subnet it lies in, where one of its subnets does. */
function subnetsFor(claim: Claim, verdicts: ReadonlyMap<string, Verdict>): readonly string[] {
  const asked: Ip | undefined = claim.addresses?.[0];
  if (asked === undefined) return claim.subnets;
  const around = claim.subnets.filter((name) => {
    const net = verdicts.get(name)?.net;
    return [net?.v4, net?.v6].some((part) => part !== undefined && cidrContains(part.cidr, asked));
  });
  return around.length === 0 ? claim.subnets : around;
}
