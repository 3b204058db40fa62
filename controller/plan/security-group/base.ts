import type { Acl } from '../acl-tier/port-group-acl.ts';

/** Matches of the traffic that every member needs: neighbours, router advertisements, DHCP, VRRP. */
export function baseMatches(direction: Acl['direction']): readonly string[] {
  const isIngress = direction === 'to-lport';
  // Advertisements come in and solicitations go out.
  const neighbours = isIngress ? '{130, 134, 135, 136}' : '{130, 133, 135, 136}';
  const [source, destination] = isIngress ? [67, 68] : [68, 67];
  const [source6, destination6] = isIngress ? [547, 546] : [546, 547];
  return [
    'arp',
    `icmp6.type == ${neighbours} && icmp6.code == 0 && ip.ttl == 255`,
    `udp.src == ${source} && udp.dst == ${destination} && ip4`,
    `udp.src == ${source6} && udp.dst == ${destination6} && ip6`,
    'ip.proto == 112',
  ];
}
