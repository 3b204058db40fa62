/**
 * Whose network an address is in that a kubelet gives as its node's. What is in force there stays: the node is not served
 * by such an address.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import { cidrContains } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { partsOf } from '../subnet/parts.ts';
import type { NetInForce } from '../underlay/underlay.ts';
import type { View } from '../view.ts';

/** Nodes may be in the LAN of an underlay subnet, but have no address there that somebody has. */
function ownerInLan(view: View, subnet: string, net: NetInForce, { family, value }: Ip): string | undefined {
  const part = family === 4 ? net.v4 : net.v6;
  if (part?.gateway === value) return `the gateway of subnet ${subnet}`;
  const port = view.pool(subnet)?.pool(family)?.owner(value);
  return port === undefined ? undefined : `port ${port} in subnet ${subnet}`;
}

function ownerInSubnets(view: View, ip: Ip): string | undefined {
  for (const [name, { vpc, net }] of view.verdicts) {
    const isIn = net !== undefined && partsOf(net).some(({ cidr }) => cidrContains(cidr, ip));
    if (vpc !== defaultVpc || !isIn) continue;
    const owner = net.underlay === undefined ? `subnet ${name}` : ownerInLan(view, name, net, ip);
    if (owner !== undefined) return owner;
  }
  return undefined;
}

/** What of the default VPC has an address; undefined where a node may have it. */
export function networkOwner(view: View, address: string): string | undefined {
  const ip = parseIp(address);
  if (ip === undefined) return undefined;
  const owner = ownerInSubnets(view, ip);
  if (owner !== undefined) return owner;
  if (view.capabilities.apiServer?.includes(address) === true) return 'Service kubernetes';
  for (const { name, cidrs } of view.transitSwitches.values())
    if (cidrs.some((cidr) => cidrContains(cidr, ip))) return `transit switch ${name}`;
  return undefined;
}
