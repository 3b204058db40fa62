/** For tests of this folder: policies from short specs. */
import { routePolicySpec, type RoutePolicySpec } from '../../../lib/api/kinds/route-policy.ts';
import type { RoutePolicy } from '../../../lib/route-policy/policy.ts';

export type ShortSpec = Partial<Omit<RoutePolicySpec, 'rules'>> & { readonly rules?: readonly object[] };

/** A policy as `watch/` would parse it. */
export function policy(name: string, spec: ShortSpec, fields: Partial<RoutePolicy> = {}): RoutePolicy {
  return {
    name,
    uid: `uid-${name}`,
    generation: 1,
    resourceVersion: '1',
    spec: routePolicySpec.parse({ direction: 'Import', ...spec }),
    inForce: undefined,
    status: {},
    from: undefined,
    ...fields,
  };
}
