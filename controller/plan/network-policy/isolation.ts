import type { Desired } from '../../../lib/desired/row.ts';
import { policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import { hairpinSources } from '../../../lib/services/balancer.ts';
import type { View } from '../../model/view.ts';
import { aclRow, portGroupRow } from '../acl-tier/port-group-acl.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { isolationGroup, portTerm } from './names.ts';
import { policyAclOf } from './policy-acl.ts';

/** Solicitations and advertisements of routers and neighbours, which no router forwards. */
const neighbours = 'icmp6.type == {133, 134, 135, 136} && icmp6.code == 0 && ip.ttl == 255';

/** What every pod needs, whatever policies say. OVN itself lets its DHCP replies pass. */
export const neverJudged: Readonly<Record<PolicyDirection, readonly string[]>> = {
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

/** Drops what no rule of a policy allows. One group for all policies: a further policy on a port adds no ACL. */
function planIsolation({ capabilities }: View): Desired {
  const rows = policyDirections.flatMap((direction) => {
    const group = isolationGroup(direction);
    const port = portTerm(direction, group);
    return [
      portGroupRow(group, { ...vendorIds, type: 'network_policy' }),
      aclRow(group, policyAclOf(capabilities, direction, 'drop', `${port} && ip`)),
      ...neverJudged[direction].map((match) =>
        aclRow(group, policyAclOf(capabilities, direction, 'base', `${port} && ${match}`)),
      ),
    ];
  });
  return { rows };
}

/** One key, `all`. */
export const isolationFeature: Feature = {
  name: 'isolation',
  all: () => ['all'],
  reads: () => [],
  plan: planIsolation,
};
