import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';

function familiesOf(net: SubnetNet): readonly FamilyNet[] {
  return [net.v4, net.v6].filter((part) => part !== undefined);
}

/** `10.16.0.0/16,fd00::/64` */
export function cidrText(net: SubnetNet): string {
  return familiesOf(net)
    .map(({ cidr }) => formatCidr(cidr))
    .join(',');
}

/** `10.16.0.1,fd00::1` */
export function gatewayText(net: SubnetNet): string {
  return familiesOf(net)
    .map(({ cidr, gateway }) => formatIp({ family: cidr.family, value: gateway }))
    .join(',');
}

export function renderAcceptedNote(net: SubnetNet): string {
  return `${cidrText(net)} ${gatewayText(net)}`;
}

/** Undefined where there is none that can be read; nobody but the controller writes it. */
export function parseAcceptedNote(note: string | undefined): SubnetNet | undefined {
  const [cidrs = '', gateways = ''] = (note ?? '').split(' ');
  const ips = gateways.split(',').map(parseIp);
  let net: SubnetNet = {};
  for (const text of cidrs.split(',')) {
    const cidr = parseCidr(text);
    const gateway = ips.find((ip) => ip !== undefined && ip.family === cidr?.family);
    if (cidr === undefined || gateway === undefined) return undefined;
    const family: FamilyNet = { cidr, gateway: gateway.value, excluded: [] };
    net = cidr.family === 4 ? { ...net, v4: family } : { ...net, v6: family };
  }
  return net;
}
