/**
 * Subnets with externalEgressGateway → a routing rule for their packets from the overlay, and the default route of the table that it looks up, on
 * each node that is a gateway of the subnet. Pure.
 */
import { nodeInterface } from '../../lib/api/names.ts';
import { egressConflict } from '../../lib/desired/egress-tables.ts';
import { byRight } from '../../lib/desired/rights.ts';
import { familyOf } from '../../lib/net/ip.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';
import { isGatewayOf } from './subnet-gateway.ts';
import type { SubnetProblem } from './subnet-problem.ts';
import type { HostRule, TableRoute } from '../model/host-network.ts';

export interface PolicyRouting {
  readonly rules: readonly HostRule[];
  readonly routes: readonly TableRoute[];
  readonly problems: readonly SubnetProblem[];
}

const inOrder = byRight<Subnet>(({ egress }) => egress?.right ?? 0);

/** If two subnets want different routes in one table, the controller decides which of them gets its route. */
export function planPolicyRouting(subnets: readonly Subnet[], node: Node): PolicyRouting {
  const rules: HostRule[] = [];
  const routes = new Map<string, TableRoute>();
  const problems: SubnetProblem[] = [];
  for (const subnet of subnets.filter((one) => one.egress !== undefined).toSorted(inOrder)) {
    const { name, networks, egress } = subnet;
    if (egress === undefined || !isGatewayOf(subnet, node)) continue;
    const { table, priority, nextHops } = egress;
    for (const gateway of nextHops) {
      const family = familyOf(gateway);
      const sources = networks.filter((network) => familyOf(network) === family);
      const key = `${table} ${family}`;
      const holder = routes.get(key);
      if (holder !== undefined && holder.gateway !== gateway) {
        problems.push({
          subnet: name,
          code: egressConflict,
          message: `spec.policyRoutingTableID ${table} leads to ${holder.gateway} for subnet ${holder.subnet}; set another table in subnet ${name} for ${gateway}`,
        });
        continue;
      }
      if (sources.length === 0) continue;
      if (holder === undefined)
        routes.set(key, { table, destination: family === 6 ? '::/0' : '0.0.0.0/0', gateway, subnet: name });
      const rule = {
        priority,
        family,
        device: nodeInterface,
        isInverted: false,
        action: 'lookup',
        target: table,
      } as const;
      rules.push(...sources.map((source) => ({ ...rule, source, subnet: name })));
    }
  }
  return { rules, routes: [...routes.values()], problems };
}
