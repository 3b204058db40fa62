/** Multicast snooping: options of the switch, with the querier's address once it has one, and the querier's IP object. */
import { querierPortName } from '../../../lib/api/names.ts';
import type { Contribution, Desired } from '../../../lib/desired/row.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import { planIps } from '../address/ip-object.ts';
import { reportReleased } from '../address/report.ts';
import type { Feature } from '../feature.ts';
import type { HeldPort, View } from '../../model/view.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import { isSameSpec } from './spec-change.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';

/** The interface identifier is the MAC address's: RFC 4291 appendix A. */
function linkLocalOf(mac: string): string {
  const octets = mac.split(':').map((octet) => BigInt(`0x${octet}`));
  const [first = 0n, second = 0n, third = 0n, ...rest] = octets;
  const identifier = [first ^ 2n, second, third, 0xffn, 0xfen, ...rest];
  const value = identifier.reduce((all, octet) => (all << 8n) | octet, 0n);
  return formatIp({ family: 6, value: (0xfe80n << 112n) | value });
}

function querierOf(view: View, subnet: string): HeldPort | undefined {
  return view.ports(`mcast/${subnet}`)[0];
}

function planMulticast(view: View, subnet: string): Desired {
  if (servedNet(view, subnet) === undefined || view.subnets.get(subnet)?.spec.enableMulticastSnoop !== true)
    return { rows: [] };
  const querier = querierOf(view, subnet)?.allocation;
  const hasIpv6 = view.verdicts.get(subnet)?.net?.v6 !== undefined;
  const entries = {
    mcast_snoop: 'true',
    mcast_querier: querier === undefined ? 'false' : 'true',
    ...(querier === undefined ? {} : { mcast_eth_src: querier.mac }),
    ...(querier?.v4 === undefined ? {} : { mcast_ip4_src: querier.v4 }),
    // Queries of MLD come from link-local addresses: RFC 2710 section 3.
    ...(querier === undefined || !hasIpv6 ? {} : { mcast_ip6_src: linkLocalOf(querier.mac) }),
  };
  const contribution: Contribution = { table: 'Logical_Switch', key: subnet, column: 'other_config', entries };
  return { rows: [], contributions: [contribution] };
}

/** Fields of a Subnet's status about its querier; null if it has none. */
export function planQuerierStatus(view: View, subnet: string): Readonly<Record<string, string | null>> {
  const querier = querierOf(view, subnet)?.allocation;
  return {
    mcastQuerierIP: querier?.v4 ?? querier?.v6 ?? null,
    mcastQuerierMAC: querier?.mac ?? null,
  };
}

/** The IP object of the querier, which has an address and no port. */
function reportQuerier(view: View, subnet: string, outcome: Outcome): readonly ObjectReport[] {
  const ips = planIps(view, `mcast/${subnet}`);
  if (ips.length === 0) return [reportReleased(view, querierPortName(subnet), outcome)];
  return outcome.rows.hasSwitch(subnet) ? ips : [];
}

/** Keys: `<subnet>`. */
export const multicastFeature: Feature = {
  name: 'mcast',
  all: (view) => view.subnets.keys(),
  reads(change) {
    if (change.kind === 'ports') return change.name.startsWith('mcast/') ? [change.name.slice('mcast/'.length)] : [];
    if (change.kind === 'verdicts') return [change.name];
    return change.kind === 'subnets' && !isSameSpec(change) ? [change.name] : [];
  },
  plan: planMulticast,
  report: reportQuerier,
  statusOf: (subnet) => `subnet/${subnet}`,
};
