/**
 * Health checks of a rule: for each of its virtual addresses a row, and for each backend its port and the source of the checks. OVN
 * sends them on the node of the backend, and leaves backends that do not answer out.
 */
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Backend } from '../../../lib/services/backends.ts';
import { ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import type { ServiceVip } from '../../../lib/services/vips.ts';
import type { LbRule } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { planIps } from '../address/ip-object.ts';
import { reportReleased } from '../address/report.ts';
import { healthCheckPortName } from '../../../lib/api/names.ts';
import { wantsHealthChecks } from '../../settle/service/checked-ports.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import type { Balancer } from '../service/balancers.ts';

/** Seconds, and results in a row: a backend that refuses connections is left out after 3 to 6 seconds, a silent one after 9 to 12. */
const options = { interval: '3', timeout: '3', success_count: '2', failure_count: '2' };

/** Why OVN does not check a backend. */
export type UncheckedReason = 'HealthChecksOff' | 'SctpNotChecked' | 'NotAPod' | 'NoSource';

interface Check {
  /** The port of OVN at which the backend is. */
  readonly port: string;
  /** The source of the checks, of the family of the backend. */
  readonly source: string;
}

/** How OVN checks the backend of a rule with this address, or why it does not. */
export function checkOf(
  view: View,
  rule: LbRule,
  { protocol, family }: Pick<ServiceVip, 'protocol' | 'family'>,
  address: string,
): Check | UncheckedReason {
  if (!wantsHealthChecks(rule)) return 'HealthChecksOff';
  if (protocol === 'sctp') return 'SctpNotChecked';
  const place = view.serviceVerdicts.get(ruleServiceKey(rule))?.checked?.[address];
  if (place === undefined) return 'NotAPod';
  const source = view.ports(`health-check/${place.subnet}`)[0]?.allocation[`v${family}`];
  return source === undefined ? 'NoSource' : { port: place.port, source };
}

function inBrackets(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/** The entries of `ip_port_mappings` of a load balancer. */
export function mappingsOf(
  view: View,
  rule: LbRule,
  balancer: Balancer,
  backends: Iterable<Backend>,
): Readonly<Record<string, string>> {
  const mappings: Record<string, string> = {};
  for (const { address } of backends) {
    const check = checkOf(view, rule, balancer, address);
    if (typeof check === 'object') mappings[inBrackets(address)] = `${check.port}:${inBrackets(check.source)}`;
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
