/**
 * The entries of map columns that belong to this room: its plans write them, and remove them when they are no longer wanted. All
 * other entries of these columns belong to other programs and stay. Columns that are not listed belong to this room as a whole: DHCP
 * options and router advertisements are answers to pods, of which every entry counts. A row adopted from Kube-OVN is written as a
 * whole once. The golden test fails if a plan writes an entry that is missing here.
 */
import type { OwnEntries } from '../../lib/desired/row.ts';
import { externalId } from '../../lib/api/names.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { tunnelBfd } from '../../lib/ovn/tunnel-bfd.ts';
import { balancerGroupPrefix } from '../../lib/services/balancer.ts';
import { leftEntry } from '../model/domain.ts';

const externalIds: ReadonlySet<string> = new Set([
  ...Object.values(externalId),
  'address-family',
  'attach-vips',
  'domain',
  'ippool',
  'ipv4_network',
  'ipv6_network',
  'isU2ORoutePolicy',
  'ls',
  'node',
  'np',
  'parent',
  'pod',
  'port',
  'protocol',
  'rules',
  'security_groups',
  'sg',
  'subnet',
  'type',
  'upstream',
  'vip',
  'vips',
  'vpc',
]);

const options: Readonly<Record<string, ReadonlySet<string>>> = {
  ACL: new Set(['apply-after-lb']),
  Logical_Switch_Port: new Set([
    'activation-strategy',
    'arp_proxy',
    'nat-addresses',
    'network_name',
    'requested-chassis',
    'router-port',
    'virtual-ip',
    'virtual-parents',
  ]),
  Logical_Router_Static_Route: new Set(['ecmp_symmetric_reply']),
  NB_Global: new Set(['use_ct_inv_match', ...Object.keys(tunnelBfd)]),
  Load_Balancer_Health_Check: new Set(['failure_count', 'interval', 'success_count', 'timeout']),
  Load_Balancer: new Set(['address-family', 'affinity_timeout', 'ct_flush', 'hairpin_snat_ip', 'reject', 'template']),
};

function isOwnId(entry: string): boolean {
  return externalIds.has(entry) || entry.startsWith('associated_sg_') || entry.startsWith(leftEntry);
}

/** The owner of a row in a table without external_ids, from the row's name: a group of load balancers belongs to its VPC. */
export function ownerByName(table: string, { name }: Readonly<Record<string, unknown>>): string | undefined {
  const isGroup = table === 'Load_Balancer_Group' && typeof name === 'string' && name.startsWith(balancerGroupPrefix);
  return isGroup ? `service-group/${name.slice(balancerGroupPrefix.length)}` : undefined;
}

export const ownEntries: OwnEntries = (table, column) => {
  if (table === 'Load_Balancer' && (column === 'vips' || column === 'ip_port_mappings')) return () => true;
  if (column === 'options') {
    const own = options[table];
    return own && ((entry) => own.has(entry));
  }
  if (column !== 'external_ids') return undefined;
  // Nodes by name, with their addresses.
  if (table === 'Logical_Router_Policy')
    return (entry, value) => isOwnId(entry) || (typeof value === 'string' && parseIp(value) !== undefined);
  return isOwnId;
};
