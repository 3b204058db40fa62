import type { Problem } from '../../../lib/desired/problem.ts';
import type { View } from '../../model/view.ts';
import { hasRouterPort, routingInForce } from '../../model/net-in-force.ts';

/** Problems of an underlay subnet's spec. */
export function underlayProblems(view: View, subnet: string): readonly Problem[] {
  const net = view.verdicts.get(subnet)?.net;
  const spec = view.subnets.get(subnet)?.spec;
  if (net?.underlay === undefined || spec === undefined) return [];
  const problems: Problem[] = [];
  const unmet = routingInForce(net) === 'u2o' ? view.addressProblem(`u2o/${subnet}`) : undefined;
  if (unmet !== undefined)
    problems.push({
      code: unmet.code,
      message: `spec.u2oInterconnection: the router of the Vpc has no address in the subnet, and new pods wait for their gateway: ${unmet.message}`,
    });
  if (!hasRouterPort(net) && net.v6 !== undefined && spec.enableIPv6RA)
    problems.push({
      code: 'IPv6RAInvalid',
      message:
        'spec.enableIPv6RA: the gateway of this subnet is a router of the physical network, which sends its own router advertisements: remove it',
    });
  return problems;
}
