/**
 * Allocates a member's ports on the paths of a network: its present port, a former one that it can prove, otherwise the lowest free
 * one. Pure.
 */
import type { Taken } from '../model/holdings.ts';
import { cidrContains, lastOf, parseCidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp, type Ip } from '../../../lib/net/ip.ts';
import { parseMac } from '../../../lib/net/mac.ts';
import type { AllocatedPort, NetworkPath } from '../model/record.ts';

/** OVN's range of keys for datapaths that span availability zones. */
export const firstGlobalKey = 16_711_681;
export const lastGlobalKey = 16_777_215;
const lastPortKey = 32_767;

/**
 * The first of `claimed` (ports that the member reports or that were recorded for it) that can be allocated again; otherwise a new
 * one: the lowest free port, or the highest while there may be unknown holders, which once got the lowest.
 */
export function allocatePort(
  path: NetworkPath,
  claimed: readonly AllocatedPort[],
  taken: Taken,
  from: 'lowest' | 'highest',
): AllocatedPort | undefined {
  const again = claimed.find((port) => port.switch === path.switch && isUsable(path, port, taken));
  if (again !== undefined) {
    const { mac, networks, tunnelKey } = again;
    return { switch: path.switch, mac, networks, tunnelKey };
  }
  const tunnelKey = freeKey((key) => taken.hasKey(path.switch, key), from);
  if (tunnelKey === undefined) return undefined;
  const ips: Ip[] = [];
  const networks: string[] = [];
  for (const cidr of path.cidrs) {
    const ip = freeAddress(path.switch, cidr, taken, from);
    if (ip === undefined) return undefined;
    ips.push(ip);
    networks.push(`${formatIp(ip)}/${cidr.split('/')[1]}`);
  }
  const [first] = ips;
  return first === undefined ? undefined : { switch: path.switch, mac: macOf(first), networks, tunnelKey };
}

/** Whether the port fits this path: a free address in each of the path's networks. */
function isUsable(path: NetworkPath, port: AllocatedPort, taken: Taken): boolean {
  const { networks, tunnelKey } = port;
  if (parseMac(port.mac) === undefined || networks.length !== path.cidrs.length) return false;
  if (!Number.isInteger(tunnelKey) || tunnelKey < 1 || tunnelKey > lastPortKey) return false;
  if (taken.hasKey(path.switch, tunnelKey)) return false;
  return path.cidrs.every((cidr, at) => {
    const [address = '', length, ...rest] = (networks[at] ?? '').split('/');
    const [network, ip] = [parseCidr(cidr), parseIp(address)];
    if (network === undefined || ip === undefined || length !== String(network.prefix) || rest.length > 0) return false;
    return cidrContains(network, ip) && !taken.hasAddress(path.switch, formatIp(ip));
  });
}

function freeAddress(pathSwitch: string, text: string, taken: Taken, from: 'lowest' | 'highest'): Ip | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined) return undefined;
  // Ports do not get the first and the last address.
  const [first, last] = [cidr.network + 1n, lastOf(cidr) - 1n];
  for (let step = 0n; first + step <= last; step += 1n) {
    const ip: Ip = { family: cidr.family, value: from === 'lowest' ? first + step : last - step };
    if (!taken.hasAddress(pathSwitch, formatIp(ip))) return ip;
  }
  return undefined;
}

function freeKey(isTaken: (key: number) => boolean, from: 'lowest' | 'highest'): number | undefined {
  for (let step = 0; step < lastPortKey; step += 1) {
    const key = from === 'lowest' ? 1 + step : lastPortKey - step;
    if (!isTaken(key)) return key;
  }
  return undefined;
}

/** Derived from the low 32 bits of the address, so that it is unique on the switch and the same after a restart. */
function macOf(ip: Ip): string {
  const octets = [24n, 16n, 8n, 0n].map((shift) => Number((ip.value >> shift) & 255n));
  return ['0a', '58', ...octets.map((octet) => octet.toString(16).padStart(2, '0'))].join(':');
}
