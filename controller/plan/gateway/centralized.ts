import { defaultVpc } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import type { View } from '../../model/view.ts';

/** Centralized gateway: traffic that pods of a subnet send out of the cluster leaves through the nodes in use. */
function planGateway(view: View, subnet: string): Desired {
  const net = servedNet(view, subnet);
  const choice = view.gateways.get(subnet);
  if (net === undefined || choice === undefined) return nothing;
  const rows = [net.v4, net.v6].flatMap((part): DesiredRow[] => {
    if (part === undefined) return [];
    const { family } = part.cidr;
    const hops = choice.hops.flatMap(({ node, v4, v6 }): [string, string][] => {
      const address = family === 4 ? v4 : v6;
      return address === undefined ? [] : [[node, address]];
    });
    if (hops.length === 0) return [];
    return [
      {
        table: 'Logical_Router_Policy',
        key: `gateway/${subnet}/ipv${family}`,
        columns: {
          priority: policyPriority.gateway,
          match: `${matchFamily(family)}.src == ${formatCidr(part.cidr)}`,
          action: 'reroute',
          nexthops: hops.map(([, address]) => address),
          external_ids: { ...Object.fromEntries(hops), ...vendorIds, subnet },
        },
        parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
      },
    ];
  });
  return { rows };
}

/** Keys: `<subnet>`. */
export const centralizedGatewayFeature: Feature = {
  name: 'central-gateway',
  all: (view) => view.subnets.keys(),
  reads: (change) => (change.kind === 'gateways' || change.kind === 'verdicts' ? [change.name] : []),
  plan: planGateway,
  statusOf: (subnet) => `subnet/${subnet}`,
};
