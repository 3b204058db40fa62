/**
 * The ClusterSet IPs of the imports. In: the networks they come from, and the addresses that imports had. An import keeps its address as long
 * as it exists and the address is in the network, also over restarts. A new one gets the address that its name points at, or the next free one.
 */
import { cidrContains, cidrSize, type Cidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp, type Family, type Ip } from '../../../lib/net/ip.ts';
import { digestOf } from '../../../lib/services/digest.ts';

/** An import with the addresses that were written for it. */
export interface FormerIps {
  readonly key: string;
  readonly ips: readonly string[];
  /** Addresses that the database has: what an object says may have been changed by others meanwhile. */
  readonly isInDatabase: boolean;
  /** Of the object, milliseconds since 1970. */
  readonly createdMs: number;
}

export class ClusterSetIps {
  #networks: readonly Cidr[] = [];
  /** By import and family. */
  readonly #ips = new Map<string, string>();
  /** Address → import. */
  readonly #holders = new Map<string, string>();
  readonly #used: Record<Family, number> = { 4: 0, 6: 0 };

  /** One network for each family. Imports lose addresses that are not in them. */
  setNetworks(networks: readonly Cidr[]): void {
    this.#networks = networks;
    for (const [address, key] of this.#holders) {
      const ip = parseIp(address);
      if (ip === undefined || networks.some((network) => cidrContains(network, ip))) continue;
      this.releaseFamily(key, ip.family);
    }
  }

  /**
   * Of imports that have the same address, the one in the database keeps it, else the oldest, else the first by name. Returns
   * the imports that have an address now.
   */
  restore(imports: Iterable<FormerIps>): string[] {
    const order = [...imports].sort(
      (a, b) =>
        Number(b.isInDatabase) - Number(a.isInDatabase) || a.createdMs - b.createdMs || (a.key < b.key ? -1 : 1),
    );
    for (const { key, ips } of order)
      for (const text of ips) {
        const ip = parseIp(text);
        if (ip !== undefined && this.#isFree(ip) && this.get(key, ip.family) === undefined) this.#hold(key, ip);
      }
    return [...new Set(this.#holders.values())];
  }

  get(key: string, family: Family): string | undefined {
    return this.#ips.get(`${family} ${key}`);
  }

  /** The address of an import. Undefined: the network has no free address, or there is no network of the family. */
  take(key: string, family: Family): string | undefined {
    const known = this.get(key, family);
    if (known !== undefined) return known;
    const network = this.#networks.find((one) => one.family === family);
    if (network === undefined) return undefined;
    const { first, size } = usable(network);
    if (BigInt(this.#used[family]) >= size) return undefined;
    for (let offset = BigInt(`0x${digestOf(key).slice(0, 16)}`) % size; ; offset = (offset + 1n) % size) {
      const ip = { family, value: first + offset };
      if (this.#isFree(ip)) return this.#hold(key, ip);
    }
  }

  release(key: string): void {
    for (const family of [4, 6] as const) this.releaseFamily(key, family);
  }

  releaseFamily(key: string, family: Family): void {
    const text = this.get(key, family);
    if (text === undefined) return;
    this.#ips.delete(`${family} ${key}`);
    this.#holders.delete(text);
    this.#used[family] -= 1;
  }

  clear(): void {
    this.#ips.clear();
    this.#holders.clear();
    this.#used[4] = 0;
    this.#used[6] = 0;
  }

  #isFree(ip: Ip): boolean {
    const network = this.#networks.find((one) => cidrContains(one, ip));
    if (network === undefined) return false;
    const { first, size } = usable(network);
    return ip.value >= first && ip.value < first + size && !this.#holders.has(formatIp(ip));
  }

  #hold(key: string, ip: Ip): string {
    const text = formatIp(ip);
    this.#ips.set(`${ip.family} ${key}`, text);
    this.#holders.set(text, key);
    this.#used[ip.family] += 1;
    return text;
  }
}

/** Without the first address and, of IPv4, the last. */
function usable(network: Cidr): { readonly first: bigint; readonly size: bigint } {
  const size = cidrSize(network) - (network.family === 4 ? 2n : 1n);
  return { first: network.network + 1n, size: size > 0n ? size : 0n };
}
