import type { Problem } from '../../../lib/desired/problem.ts';
import { obstacleConditions } from '../conditions.ts';
import type { WantedCondition } from '../conditions.ts';
import type { View } from '../view.ts';

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
  const problem = view.addressProblem(`vip/${name}`) ?? unsupported;
  // Without a subresource each write of the status is a new generation: to tell it would never end.
  return obstacleConditions(undefined, problem, refused, 'VipReady');
}
