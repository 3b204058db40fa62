/** The backends of a rule with the results of their health checks. */
import { backendsOf, clusterBackends, type Backend } from '../../../lib/services/backends.ts';
import { serviceKey } from '../../../lib/services/service.ts';
import { vipId, vipsOf, type ServiceVip } from '../../../lib/services/vips.ts';
import { monitorKey } from '../../model/monitors.ts';
import type { LbRule } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { reachedSlices } from '../service/balancers.ts';
import { servedRule, type ServedRule } from './served.ts';
import { checkOf, type UncheckedReason } from './health-check.ts';

const allStates = ['Online', 'Offline', 'Error', 'Pending', 'Unchecked'] as const;

export type BackendState = (typeof allStates)[number];

export interface RuleBackend {
  readonly address: string;
  readonly port: number;
  readonly protocol: string;
  readonly pod?: string;
  readonly state: BackendState;
  /** Of one that is Unchecked. */
  readonly reason?: UncheckedReason;
}

const states: Readonly<Record<string, BackendState>> = { online: 'Online', offline: 'Offline', error: 'Error' };

/** Backends in this state get no connections. */
export function isOut({ state }: RuleBackend): boolean {
  return state === 'Offline' || state === 'Error';
}

function stateOf(
  view: View,
  rule: LbRule,
  vip: ServiceVip,
  { address, port }: Backend,
): Pick<RuleBackend, 'state' | 'reason'> {
  const check = checkOf(view, rule, vip, address);
  if (typeof check === 'string') return { state: 'Unchecked', reason: check };
  return { state: states[view.monitors?.get(monitorKey(check.port, vip.protocol, address, port)) ?? ''] ?? 'Pending' };
}

/** Each backend of what is served once with each port and protocol, in the order of the ports of the rule. */
export function ruleBackends(view: View, rule: LbRule, { service, balancers }: ServedRule): readonly RuleBackend[] {
  const key = serviceKey(service);
  const slices = reachedSlices(view, key);
  const { checked = {}, takenVips = {} } = view.serviceVerdicts.get(key) ?? {};
  const backends = new Map<string, RuleBackend>();
  const families = new Set(balancers.map(({ family }) => family));
  const isServed = (vip: ServiceVip): boolean => families.has(vip.family) && takenVips[vipId(vip)] === undefined;
  for (const vip of vipsOf(service, view.capabilities).filter(isServed))
    for (const backend of clusterBackends(backendsOf(slices, vip.port, vip.family))) {
      const { address, port } = backend;
      const pod = backend.pod ?? checked[address]?.pod;
      const { protocol } = vip.port;
      backends.set(`${protocol} ${address} ${port}`, {
        address,
        port,
        protocol,
        ...(pod !== undefined && { pod }),
        ...stateOf(view, rule, vip, backend),
      });
    }
  return [...backends.values()];
}

/** Numbers of backends of a rule by state, as labels of a metric; those of all states where anything is served. */
export function backendCounts(view: View, rule: LbRule): ReadonlyMap<string, number> {
  const served = servedRule(view, rule);
  if (served === undefined) return new Map();
  const counts = new Map(allStates.map((state) => [state.toLowerCase(), 0]));
  for (const { state } of ruleBackends(view, rule, served))
    counts.set(state.toLowerCase(), (counts.get(state.toLowerCase()) ?? 0) + 1);
  return counts;
}
