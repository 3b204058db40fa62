import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, lastOf } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetSpec } from '../../model/objects.ts';

export interface ReadVips {
  /** Canonical, once each. */
  readonly ips: readonly Ip[];
  readonly problems: readonly Problem[];
}

function flawOf(ip: Ip | undefined, parts: readonly FamilyNet[]): string | undefined {
  if (ip === undefined) return 'is not an IP address';
  const part = parts.find(({ cidr }) => cidrContains(cidr, ip));
  if (part === undefined || ip.value === part.cidr.network || ip.value === lastOf(part.cidr))
    return 'is not a host address of spec.cidrBlock';
  return ip.value === part.gateway ? 'is the gateway' : undefined;
}

/** The addresses of a spec that are in its networks, and the problems of the others. */
export function readVips({ vips }: Pick<SubnetSpec, 'vips'>, parts: readonly FamilyNet[]): ReadVips {
  const ips = new Map<string, Ip>();
  const problems: Problem[] = [];
  for (const [index, text] of vips.entries()) {
    if (text.trim() === '') continue;
    const ip = parseIp(text.trim());
    const flaw = flawOf(ip, parts);
    if (flaw !== undefined)
      problems.push({ code: 'VipsInvalid', message: `spec.vips[${index}]: ${text} ${flaw}: remove or correct it` });
    else if (ip !== undefined) ips.set(formatIp(ip), ip);
  }
  return { ips: [...ips.values()], problems };
}
