/**
 * Health checks of a rule: for each of its virtual addresses of IPv4 a row, and for each backend its port and the source of the checks. OVN
 * sends them on the node of the backend, and leaves backends that do not answer out.
 */
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Backend } from '../../../lib/services/backends.ts';
import type { ServiceVip } from '../../model/service-vips.ts';
import type { View } from '../../model/view.ts';
import { planIps } from '../address/ip-object.ts';
import { reportReleased } from '../address/report.ts';
import { healthCheckPortName } from '../../../lib/api/names.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import type { Balancer } from '../service/balancers.ts';

/** Seconds, and results in a row: a backend that refuses connections is left out after 3 to 6 seconds, a silent one after 9 to 12. */
const options = { interval: '3', timeout: '3', success_count: '2', failure_count: '2' };

/** Whether OVN can check backends of this protocol and family. */
export function isCheckable({ protocol, family }: Pick<ServiceVip, 'protocol' | 'family'>): boolean {
  return family === 4 && protocol !== 'sctp';
}

function sourceIn(view: View, subnet: string): string | undefined {
  return view.ports(`health-check/${subnet}`)[0]?.allocation.v4;
}

/** `<port>:<source>` of the backend with this address; undefined where OVN does not check it. */
export function checkOf(view: View, frontend: string, address: string): string | undefined {
  const place = view.serviceVerdicts.get(frontend)?.checked?.[address];
  const source = place && sourceIn(view, place.subnet);
  return place && source && `${place.port}:${source}`;
}

/** The entries of `ip_port_mappings` of a load balancer. */
export function mappingsOf(
  view: View,
  frontend: string,
  balancer: Balancer,
  backends: Iterable<Backend>,
): Readonly<Record<string, string>> {
  if (!isCheckable(balancer)) return {};
  const mappings: Record<string, string> = {};
  for (const { address } of backends) {
    const check = checkOf(view, frontend, address);
    if (check !== undefined) mappings[address] = check;
  }
  return mappings;
}

/** A row for each virtual address of a load balancer. */
export function healthCheckRows(balancer: string, vips: readonly string[]): readonly DesiredRow[] {
  return vips.map((vip) => ({
    table: 'Load_Balancer_Health_Check',
    key: `${balancer}/${vip}`,
    columns: { vip, options, external_ids: vendorIds },
    parent: { table: 'Load_Balancer', key: balancer, column: 'health_check' },
  }));
}

/** The IP object of a subnet's source, which has an address and no port. */
function reportSource(view: View, subnet: string, outcome: Outcome): readonly ObjectReport[] {
  const ips = planIps(view, `health-check/${subnet}`);
  if (ips.length === 0) return [reportReleased(view, healthCheckPortName(subnet), outcome)];
  return outcome.rows.hasSwitch(subnet) ? ips : [];
}

/** Keys: the Subnet. */
export const healthCheckFeature: Feature = {
  name: 'health-check',
  all: (view) => view.healthChecks.bySubnet.keys(),
  reads: ({ kind, name }) =>
    kind === 'ports' && name.startsWith('health-check/') ? [name.slice('health-check/'.length)] : [],
  report: reportSource,
};
