import type { Problem } from '../../../lib/desired/problem.ts';
import { obstacleConditions } from '../conditions.ts';
import type { WantedCondition } from '../report.ts';
import { hasRouterPort } from '../../model/net-in-force.ts';
import type { View } from '../../model/view.ts';

/** What a Vip is told of its address; undefined while it has none. */
export function planVipStatus(view: View, name: string): Readonly<Record<string, unknown>> {
  const vip = view.vips.get(name);
  const allocation = view.ports(`vip/${name}`)[0]?.allocation;
  if (vip === undefined || allocation === undefined) return {};
  return {
    type: vip.spec.type,
    v4ip: allocation.v4 ?? '',
    v6ip: allocation.v6 ?? '',
    mac: allocation.mac,
    selector: vip.spec.selector,
  };
}

/** A subnet without a port of the router has nobody to answer for the address of a load balancer. */
function unanswered(view: View, name: string): Problem | undefined {
  const subnet = view.ports(`vip/${name}`)[0]?.allocation.subnet ?? '';
  const net = view.verdicts.get(subnet)?.net;
  if (view.vips.get(name)?.spec.type !== 'switch_lb_vip' || net === undefined || hasRouterPort(net)) return undefined;
  const message = `spec.type switch_lb_vip: the gateway of subnet ${subnet} is a router of the physical network, and nobody answers for the address there: set spec.u2oInterconnection or spec.logicalGateway of the subnet, or make the Vip in another`;
  return { code: 'NotSupported', message };
}

export function planVipConditions(view: View, name: string, refused: Problem | undefined): readonly WantedCondition[] {
  const vip = view.vips.get(name);
  const legacy = vip?.spec.attachSubnets.length ?? 0;
  const unsupported: Problem | undefined =
    legacy === 0
      ? undefined
      : {
          code: 'NotSupported',
          message: 'spec.attachSubnets cannot be served by this release: make a Vip for each subnet',
        };
  const problem = view.addressProblem(`vip/${name}`) ?? unsupported ?? unanswered(view, name);
  // Without a subresource each write of the status is a new generation: to tell it would never end.
  return obstacleConditions(undefined, problem, refused, 'VipReady');
}
