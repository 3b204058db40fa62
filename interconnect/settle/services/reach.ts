/**
 * Which addresses of other clusters a VPC reaches now. In: the routes in use of each cluster, and the networks of this one. A backend in
 * another cluster counts only if the most specific of these leads to that cluster: so a member cannot have connections sent to addresses of
 * others, and a cluster without a path has no backends.
 */
import { formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, parseIp } from '../../../lib/net/ip.ts';
import type { Edges } from '../../model/edges.ts';
import type { LocalView } from '../../model/local.ts';
import type { RouteUse } from '../route-use.ts';

/** Holder of prefixes of this cluster; no cluster has this name. */
const own = '';

export class Reach {
  readonly #isLive: boolean;
  /** VPC and prefix → the cluster that has it. */
  readonly #holders = new Map<string, Set<string>>();
  /** By VPC and family: how many prefixes have each length. */
  readonly #lengths = new Map<string, Map<number, number>>();
  /** By holder: VPC and prefix of each of its entries. */
  readonly #entries = new Map<string, ReadonlyMap<string, { readonly vpc: string; readonly cidr: Cidr }>>();

  /** @param isLive whether only routes over paths that are up count */
  constructor(isLive = true) {
    this.#isLive = isLive;
  }

  /** The routes of a cluster; undefined: it is gone. Returns whether what is reached differs now. */
  setCluster(cluster: string, uses: readonly RouteUse[] | undefined): boolean {
    const live = (uses ?? []).filter(
      ({ rejected, hops }) => rejected === undefined && (!this.#isLive || hops.some(({ isUsed }) => isUsed)),
    );
    return this.#set(
      cluster,
      live.map(({ router, prefix }) => ({ vpc: router, cidr: parseCidr(prefix) })),
    );
  }

  /** The networks of this cluster, which its pods reach without another cluster. */
  setOwn({ vpcs }: Pick<LocalView, 'vpcs'>, edges: Edges): boolean {
    const ranges = [...vpcs.values()].flatMap(({ router, ranges: held }) =>
      held.map(({ cidr }) => ({ vpc: router, cidr })),
    );
    const learned = [...edges].flatMap(([router, prefixes]) =>
      [...prefixes.keys()].map((prefix) => ({ vpc: router, cidr: parseCidr(prefix) })),
    );
    return this.#set(own, [...ranges, ...learned]);
  }

  /** Whether packets of the VPC for this address go to that cluster. */
  reaches(vpc: string, cluster: string, address: string): boolean {
    const ip = parseIp(address);
    if (ip === undefined) return false;
    const lengths = this.#lengths.get(`${vpc} ${ip.family}`);
    if (lengths === undefined) return false;
    for (const prefix of [...lengths.keys()].sort((a, b) => b - a)) {
      const hostBits = BigInt(bitsOf(ip.family) - prefix);
      const cidr = { family: ip.family, network: (ip.value >> hostBits) << hostBits, prefix };
      const holders = this.#holders.get(`${vpc} ${formatCidr(cidr)}`);
      if (holders !== undefined) return holders.has(cluster);
    }
    return false;
  }

  clear(): void {
    this.#holders.clear();
    this.#lengths.clear();
    this.#entries.clear();
  }

  #set(holder: string, prefixes: readonly { readonly vpc: string; readonly cidr: Cidr | undefined }[]): boolean {
    const before = this.#entries.get(holder) ?? new Map<string, { readonly vpc: string; readonly cidr: Cidr }>();
    const after = new Map<string, { readonly vpc: string; readonly cidr: Cidr }>(
      prefixes.flatMap(({ vpc, cidr }) =>
        cidr === undefined ? [] : [[`${vpc} ${formatCidr(cidr)}`, { vpc, cidr }] as const],
      ),
    );
    let isChanged = false;
    for (const [key, { vpc, cidr }] of before) {
      if (after.has(key)) continue;
      isChanged = true;
      const holders = this.#holders.get(key);
      holders?.delete(holder);
      if (holders?.size === 0) this.#holders.delete(key);
      this.#count(vpc, cidr, -1);
    }
    for (const [key, { vpc, cidr }] of after) {
      if (before.has(key)) continue;
      isChanged = true;
      this.#holders.set(key, (this.#holders.get(key) ?? new Set<string>()).add(holder));
      this.#count(vpc, cidr, 1);
    }
    if (after.size === 0) this.#entries.delete(holder);
    else this.#entries.set(holder, after);
    return isChanged;
  }

  #count(vpc: string, { family, prefix }: Cidr, by: number): void {
    const key = `${vpc} ${family}`;
    const lengths = this.#lengths.get(key) ?? new Map<number, number>();
    const count = (lengths.get(prefix) ?? 0) + by;
    if (count === 0) lengths.delete(prefix);
    else lengths.set(prefix, count);
    this.#lengths.set(key, lengths);
  }
}
