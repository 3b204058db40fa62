import type { Problem } from '../../../lib/desired/problem.ts';
import { hasRouterPort } from '../../model/net-in-force.ts';
import type { View } from '../../model/view.ts';
import { obstacleConditions } from '../conditions.ts';
import { refusalEvents } from '../events.ts';
import { withoutFormer } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedCondition } from '../report.ts';

/** The address of a Vip in its status; nothing while it has none. */
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

/** In a subnet without a port of the router, nothing answers for the address of a load balancer. */
function unanswered(view: View, name: string): Problem | undefined {
  const subnet = view.ports(`vip/${name}`)[0]?.allocation.subnet ?? '';
  const net = view.verdicts.get(subnet)?.net;
  if (view.vips.get(name)?.spec.type !== 'switch_lb_vip' || net === undefined || hasRouterPort(net)) return undefined;
  const message = `spec.type switch_lb_vip: the gateway of subnet ${subnet} is a router of the physical network, and OVN does not answer for the address there: set spec.u2oInterconnection or spec.logicalGateway of the subnet, or create the Vip in another subnet`;
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
          message: 'spec.attachSubnets cannot be served by this release: create a Vip for each subnet',
        };
  const problem = view.addressProblem(`vip/${name}`) ?? unsupported ?? unanswered(view, name);
  // The kind has no status subresource: each write is a new generation, and observing it would be the next write.
  return obstacleConditions(undefined, problem, refused, 'VipReady');
}

export function reportVip(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'vips', name } as const;
  const vip = view.vips.get(name);
  if (vip === undefined) return [{ object }];
  if (vip.isDeleting) return [{ object, finalizers: withoutFormer(vip.finalizers) }];
  const conditions = planVipConditions(view, name, refusalOf(outcome));
  const events = refusalEvents('AcquireAddressFailed', conditions, vip.conditions);
  const fields = planVipStatus(view, name);
  return [{ object, status: { fields, conditions, events, rateLimit: 'counts', storage: 'object' } }];
}
