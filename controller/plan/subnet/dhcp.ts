/** OVN's DHCP server for a subnet: a row of options for each family, which ports of its pods refer to. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { ref } from '../../../lib/desired/row.ts';
import type { Desired, DesiredRow, Ref } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { physicalMtu, subnetsOfOtherMtu } from '../underlay/physical-mtu.ts';
import { podGateway } from '../underlay/router-addresses.ts';
import type { View } from '../../model/view.ts';
import { readDhcpOptions } from './dhcp-options.ts';
import type { DhcpOptions } from './dhcp-options.ts';
import { isSameSpec } from './spec-change.ts';
import { gatewayIp } from '../../settle/subnet/subnet-net.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';

/** First octet of addresses of DHCP servers; ports have others. */
const serverMacSpace = 0x0e;
/** The MTU that a tunnel leaves of 1500 octets in the worst case: the controller does not know the nodes' links. */
const tunnelMtu = 1400;

/** The MTU as the CNI configures it in pods: the Subnet's, limited by its physical network. */
function mtuOf(view: View, subnet: string): number {
  const mtu = view.subnets.get(subnet)?.spec.mtu ?? 0;
  const wanted = mtu >= 68 ? mtu : undefined;
  const carried = physicalMtu(view, subnet);
  return carried === undefined ? (wanted ?? tunnelMtu) : Math.min(wanted ?? carried, carried);
}

function familiesOf(view: View, subnet: string): readonly FamilyNet[] {
  const net = servedNet(view, subnet);
  return [net?.v4, net?.v6].filter((part) => part !== undefined);
}

/** Options that go without saying, for a server in `subnet`. */
export function dhcpDefaults(view: View, subnet: string, net: FamilyNet): Readonly<Record<string, string>> {
  const mac = deriveMac(serverMacSpace, `dhcp/${subnet}`);
  if (net.cidr.family === 6) return { server_id: mac };
  return {
    lease_time: '3600',
    router: podGateway(view, subnet, 4) ?? gatewayIp(net),
    server_id: '169.254.0.254',
    server_mac: mac,
    mtu: String(mtuOf(view, subnet)),
  };
}

function optionsOf(view: View, subnet: string, net: FamilyNet): DhcpOptions {
  const spec = view.subnets.get(subnet)?.spec;
  const isV4 = net.cidr.family === 4;
  const text = (isV4 ? spec?.dhcpV4Options : spec?.dhcpV6Options) ?? '';
  const field = isV4 ? 'spec.dhcpV4Options' : 'spec.dhcpV6Options';
  return readDhcpOptions(net.cidr.family, text, dhcpDefaults(view, subnet, net), field);
}

function isEnabled(view: View, subnet: string): boolean {
  return view.subnets.get(subnet)?.spec.enableDHCP === true;
}

/** The key of a subnet's row of DHCP options. */
export function dhcpKey(subnet: string, family: Family): string {
  return `${subnet}/ipv${family}`;
}

function planDhcp(view: View, subnet: string): Desired {
  if (!isEnabled(view, subnet)) return { rows: [] };
  const rows = familiesOf(view, subnet).map((net): DesiredRow => {
    const { family } = net.cidr;
    return {
      table: 'DHCP_Options',
      key: dhcpKey(subnet, family),
      columns: {
        cidr: formatCidr(net.cidr),
        options: optionsOf(view, subnet, net).options,
        external_ids: { ...vendorIds, ls: subnet, protocol: `IPv${family}` },
      },
      // Networks of different VPCs may have one CIDR.
      adopts: ['external_ids:ls', 'external_ids:protocol'],
    };
  });
  return { rows };
}

/** References for `dhcpv4_options` and `dhcpv6_options` of the ports of a subnet's pods. */
export function dhcpOptionsOf(view: View, subnet: string): { readonly v4?: Ref; readonly v6?: Ref } {
  const families = isEnabled(view, subnet) ? familiesOf(view, subnet).map(({ cidr }) => cidr.family) : [];
  const of = (family: Family): Ref => ref('DHCP_Options', dhcpKey(subnet, family));
  return { ...(families.includes(4) ? { v4: of(4) } : {}), ...(families.includes(6) ? { v6: of(6) } : {}) };
}

export function dhcpProblems(view: View, subnet: string): readonly Problem[] {
  const spec = view.subnets.get(subnet)?.spec;
  const nets = familiesOf(view, subnet);
  if (spec?.enableDHCP !== true || nets.length === 0) return [];
  const sentences = nets.flatMap((net) => optionsOf(view, subnet, net).problems);
  for (const [family, field, text] of [
    [4, 'spec.dhcpV4Options', spec.dhcpV4Options],
    [6, 'spec.dhcpV6Options', spec.dhcpV6Options],
  ] as const) {
    if (text.trim() !== '' && !nets.some(({ cidr }) => cidr.family === family))
      sentences.push(`${field}: the subnet has no IPv${family} CIDR: add one or remove the options`);
  }
  return sentences.map((message) => ({ code: 'DHCPOptionsInvalid', message }));
}

/** Keys: `<subnet>`. */
export const dhcpFeature: Feature = {
  name: 'dhcp',
  all: (view) => view.subnets.keys(),
  reads(change, view) {
    if (change.kind === 'nodes') return subnetsOfOtherMtu(change, view);
    if (change.kind === 'verdicts') return [change.name];
    if (change.kind === 'ports' && change.name.startsWith('u2o/')) return [change.name.slice('u2o/'.length)];
    return change.kind === 'subnets' && !isSameSpec(change) ? [change.name] : [];
  },
  plan: planDhcp,
  statusOf: (subnet) => `subnet/${subnet}`,
};
