/** What a pod's annotations ask of the allocator, or what is wrong with them. */
import { annotation, joinSubnet } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { parseIp } from '../../lib/net/ip.ts';
import type { Family, Ip } from '../../lib/net/ip.ts';
import { parseMac } from '../../lib/net/mac.ts';
import type { Pod } from './objects.ts';

export interface PortRequest {
  /** Subnets to try, in order; undefined leaves it to the namespace's. */
  readonly subnets?: readonly string[];
  readonly addresses?: readonly Ip[];
  readonly mac?: string;
  readonly families?: readonly Family[];
}

const ipFamily = 'ovn.kubernetes.io/ip_family';

/** `v4`, `v6` or `v4,v6`; undefined where anything of it is not an address or a family comes twice. */
export function parseAddresses(text: string): readonly Ip[] | undefined {
  const ips = text.split(',').map((part) => parseIp(part.trim()));
  const families = new Set(ips.map((ip) => ip?.family));
  return ips.some((ip) => ip === undefined) || families.size !== ips.length
    ? undefined
    : ips.filter((ip) => ip !== undefined);
}

function readFamilies(text: string | undefined): readonly Family[] | undefined | Problem {
  if (text === undefined || text === '') return undefined;
  const wanted = text.toLowerCase();
  if (wanted === 'ipv4') return [4];
  if (wanted === 'ipv6') return [6];
  return { code: 'InvalidIPFamily', message: `annotation ${ipFamily}: '${text}' is neither ipv4 nor ipv6` };
}

export function readPortRequest(pod: Pod): PortRequest | { readonly problem: Problem } {
  if (pod.unsupported.length > 0) {
    const names = pod.unsupported.join(', ');
    return {
      problem: { code: 'NotSupported', message: `annotations ${names} cannot be served by this release: remove them` },
    };
  }
  const {
    [annotation.ipAddress]: ip = '',
    [annotation.macAddress]: macText = '',
    [annotation.logicalSwitch]: subnet = '',
  } = pod.annotations;
  const addresses = ip === '' ? undefined : parseAddresses(ip);
  if (ip !== '' && addresses === undefined) {
    return {
      problem: {
        code: 'InvalidAddress',
        message: `annotation ${annotation.ipAddress}: '${ip}' is not an IPv4 address, an IPv6 address, or one of each`,
      },
    };
  }
  if (subnet.split(',').includes(joinSubnet)) {
    const message = `annotation ${annotation.logicalSwitch}: ${joinSubnet} is for nodes: name another subnet`;
    return { problem: { code: 'NotSupported', message } };
  }
  const mac = macText === '' ? undefined : parseMac(macText);
  if (macText !== '' && mac === undefined) {
    return {
      problem: {
        code: 'InvalidAddress',
        message: `annotation ${annotation.macAddress}: '${macText}' is not a unicast MAC address`,
      },
    };
  }
  const families = readFamilies(pod.annotations[ipFamily]);
  if (families !== undefined && 'code' in families) return { problem: families };
  return {
    ...(subnet === '' ? {} : { subnets: subnet.split(',') }),
    ...(addresses === undefined ? {} : { addresses }),
    ...(mac === undefined ? {} : { mac }),
    ...(families === undefined ? {} : { families }),
  };
}
