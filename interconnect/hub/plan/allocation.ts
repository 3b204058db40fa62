/** Addresses and keys on the transit switch: the lowest free one, never one that somebody holds. Pure. */
import { lastOf, parseCidr } from '../../../lib/net/cidr.ts';
import { formatIp, type Ip } from '../../../lib/net/ip.ts';
import type { AllocatedPort, TransitNetwork } from '../state/record.ts';

/** OVN's range of keys for datapaths that span availability zones. */
export const firstGlobalKey = 16_711_681;
export const lastGlobalKey = 16_777_215;
const lastPortKey = 32_767;

export function allocatePort(
  network: TransitNetwork,
  taken: { readonly addresses: ReadonlySet<string>; readonly tunnelKeys: ReadonlySet<number> },
): AllocatedPort | undefined {
  const cidr = parseCidr(network.cidr);
  if (cidr === undefined) return undefined;
  const tunnelKey = lowestFree(1, lastPortKey, taken.tunnelKeys);
  for (let value = cidr.network + 1n; value < lastOf(cidr); value += 1n) {
    const ip: Ip = { family: cidr.family, value };
    const address = formatIp(ip);
    if (taken.addresses.has(address)) continue;
    if (tunnelKey === undefined) return undefined;
    return { mac: macOf(ip), networks: [`${address}/${cidr.prefix}`], tunnelKey };
  }
  return undefined;
}

export function lowestFree(first: number, last: number, taken: ReadonlySet<number>): number | undefined {
  for (let key = first; key <= last; key += 1) if (!taken.has(key)) return key;
  return undefined;
}

/** From the low 32 bits of the address: unique on the switch, the same after a restart. */
function macOf(ip: Ip): string {
  const octets = [24n, 16n, 8n, 0n].map((shift) => Number((ip.value >> shift) & 255n));
  return ['0a', '58', ...octets.map((octet) => octet.toString(16).padStart(2, '0'))].join(':');
}
