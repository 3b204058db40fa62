/** What policies never judge, whatever they say: the same for the ports of NetworkPolicies and for those of policies of the whole cluster. */
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import { hairpinSources } from '../../../lib/services/balancer.ts';
import { aclRow, portGroupRow, type Acl } from '../acl-tier/port-group-acl.ts';
import { vendorIds } from '../names.ts';
import { portTerm } from './names.ts';

/** Solicitations and advertisements of routers and neighbours, which no router forwards. */
const neighbours = 'icmp6.type == {133, 134, 135, 136} && icmp6.code == 0 && ip.ttl == 255';

/** What every pod needs. OVN itself lets its DHCP replies pass. */
const neverJudged: Readonly<Record<PolicyDirection, readonly string[]>> = {
  // A pod always reaches itself, also by its own Service.
  ingress: [neighbours, ...hairpinSources.map((source) => `${source.includes(':') ? 'ip6' : 'ip4'}.src == ${source}`)],
  egress: [
    neighbours,
    'udp.src == 68 && udp.dst == 67 && ip4.dst == 255.255.255.255',
    'udp.src == 546 && udp.dst == 547 && ip6.dst == ff02::1:2',
    // Replies to the health checks of OVN, which it takes up before they leave the switch: these protocols alone.
    'eth.dst == $svc_monitor_mac && (tcp || icmp4 || icmp6)',
  ],
};

/** A port group of a direction, with an ACL for each match that lets a packet pass. */
export function neverJudgedRows(
  group: string,
  direction: PolicyDirection,
  aclOf: (match: string) => Acl,
): readonly DesiredRow[] {
  const port = portTerm(direction, group);
  return [
    portGroupRow(group, { ...vendorIds, type: 'network_policy' }),
    ...neverJudged[direction].map((match) => aclRow(group, aclOf(`${port} && ${match}`))),
  ];
}
