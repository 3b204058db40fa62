import { localnetPortName } from '../../../lib/api/names.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import { vendorIds } from '../names.ts';
import type { NetInForce } from '../../model/net-in-force.ts';

/** The port by which a switch is one with its VLAN; none of an overlay subnet. */
export function localnetRow(subnet: string, { underlay, v4, v6 }: NetInForce): DesiredRow | undefined {
  if (underlay === undefined) return undefined;
  return {
    table: 'Logical_Switch_Port',
    key: localnetPortName(subnet),
    columns: {
      type: 'localnet',
      addresses: ['unknown'],
      options: { network_name: underlay.provider },
      tag: underlay.vlan === 0 ? null : underlay.vlan,
      external_ids: {
        ...vendorIds,
        ls: subnet,
        ...(v4 === undefined ? {} : { ipv4_network: formatCidr(v4.cidr) }),
        ...(v6 === undefined ? {} : { ipv6_network: formatCidr(v6.cidr) }),
      },
    },
    parent: { table: 'Logical_Switch', key: subnet, column: 'ports' },
  };
}
