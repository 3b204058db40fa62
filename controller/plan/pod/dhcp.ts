/** The DHCP options of a port: those of its subnet, or its pod's own. */
import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { ref } from '../../../lib/desired/row.ts';
import type { DesiredRow, Wanted } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { Pod } from '../../model/objects.ts';
import { vendorIds } from '../names.ts';
import { dhcpDefaults, dhcpOptionsOf } from '../subnet/dhcp.ts';
import { readDhcpOptions } from '../subnet/dhcp-options.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { annotationOf, annotationValue } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';

const families = [
  { family: 4, key: annotation.dhcpV4Options, column: 'dhcpv4_options' },
  { family: 6, key: annotation.dhcpV6Options, column: 'dhcpv6_options' },
] as const;

type OneFamily = (typeof families)[number];

export function podDhcpProblems(pod: Pod, network: Interface): readonly Problem[] {
  return families.flatMap(({ family, key }) => {
    const text = annotationValue(pod, network, key);
    const { problems } = readDhcpOptions(family, text, {}, `annotation ${annotationOf(network, key)}`);
    return problems.map((message) => ({ code: 'InvalidAnnotation', message }));
  });
}

function ownKey(port: string, family: number): string {
  return `pod/${port}/ipv${family}`;
}

/** The network of a family that the port has an address of, where the pod names options for it. */
function ownNet(view: View, pod: Pod, held: HeldPort, { family, key }: OneFamily): FamilyNet | undefined {
  const { allocation, interface: network } = held;
  if ((family === 4 ? allocation.v4 : allocation.v6) === undefined || annotationValue(pod, network, key) === '')
    return undefined;
  const net = view.verdicts.get(allocation.subnet)?.net;
  return family === 4 ? net?.v4 : net?.v6;
}

/** Columns of the port. */
export function dhcpColumns(view: View, pod: Pod, held: HeldPort): Readonly<Record<string, Wanted>> {
  const { port, allocation } = held;
  const common = dhcpOptionsOf(view, allocation.subnet);
  const entries = families.map((one): [string, Wanted] => {
    if (ownNet(view, pod, held, one) !== undefined) return [one.column, ref('DHCP_Options', ownKey(port, one.family))];
    const isServed = (one.family === 4 ? allocation.v4 : allocation.v6) !== undefined;
    return [one.column, (isServed ? (one.family === 4 ? common.v4 : common.v6) : undefined) ?? null];
  });
  return Object.fromEntries(entries);
}

/** Rows of the pod's own options. */
export function dhcpRows(view: View, pod: Pod, held: HeldPort): readonly DesiredRow[] {
  const { port, allocation, interface: network } = held;
  return families.flatMap((one): DesiredRow[] => {
    const net = ownNet(view, pod, held, one);
    if (net === undefined) return [];
    const defaults = dhcpDefaults(view, allocation.subnet, net);
    const { options } = readDhcpOptions(one.family, annotationValue(pod, network, one.key), defaults, '');
    return [
      {
        table: 'DHCP_Options',
        key: ownKey(port, one.family),
        columns: {
          cidr: formatCidr(net.cidr),
          options,
          external_ids: { ...vendorIds, ls: allocation.subnet, port, protocol: `IPv${one.family}` },
        },
        adopts: ['external_ids:port', 'external_ids:protocol'],
      },
    ];
  });
}
