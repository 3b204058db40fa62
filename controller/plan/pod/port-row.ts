/** A pod's port: the chassis on which it may be bound, and the addresses from which it may send. */
import { annotation } from '../../../lib/api/names.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { annotationValue, listOf } from '../../model/interfaces.ts';
import { podKey, vpcNameOf } from '../../model/objects.ts';
import type { Pod } from '../../model/objects.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { portAddresses } from '../address/texts.ts';
import { vendorIds } from '../names.ts';
import { addGroupIds, groupsOf } from '../security-group/membership.ts';
import type { GroupsOfPort } from '../security-group/membership.ts';
import { sharedAddresses } from '../vip/virtual-port.ts';
import { dhcpColumns } from './dhcp.ts';

/** Addresses that a port may use beside its own: those it requests, and those of Vips that it may hold. */
function extraAddresses(pod: Pod, held: HeldPort, vips: readonly Ip[]): readonly Ip[] {
  const asked = listOf(annotationValue(pod, held.interface, annotation.portVips)).flatMap(
    (text) => parseIp(text) ?? [],
  );
  const all = [...asked, ...vips];
  if (all.length === 0) return all;
  return [...new Map(all.map((ip) => [formatIp(ip), ip])).values()];
}

/** The chassis of the nodes of all sharers of the port, the first sharer's first; none until all are known. */
function chassisOf(view: View, { sharers }: HeldPort): readonly string[] {
  const nodes = sharers.map((key) => view.pods.get(key.slice('pod/'.length))?.node ?? '');
  const known = nodes.map((node) => view.nodes.get(node)?.annotations[annotation.chassis] ?? '');
  return known.includes('') ? [] : [...new Set(known)];
}

/** Only the node the pod is on may claim the port. While a virtual machine moves, the new node is silent until the machine speaks there. */
function bindingOptions(view: View, held: HeldPort): Readonly<Record<string, string>> {
  const chassis = chassisOf(view, held);
  if (chassis.length === 0) return {};
  const requested = { 'requested-chassis': chassis.join(',') };
  return chassis.length === 1 ? requested : { ...requested, 'activation-strategy': 'rarp' };
}

/** Values that several parts of a port's plan use. */
export interface PortFacts {
  /** Texts of the addresses it may use beside its own. */
  readonly extra: readonly string[];
  /** Those of Vips among them: the others are what the author of the pod requests. */
  readonly vips: readonly string[];
  readonly groups: GroupsOfPort;
}

export function portFacts(view: View, pod: Pod, held: HeldPort): PortFacts {
  const vips = sharedAddresses(view, pod, held);
  const extra = extraAddresses(pod, held, vips);
  return {
    extra: extra.length === 0 ? [] : extra.map(formatIp),
    vips: vips.length === 0 ? [] : vips.map(formatIp),
    groups: groupsOf(view, pod, held.interface),
  };
}

function portSecurity(pod: Pod, held: HeldPort, extra: readonly string[]): readonly string[] {
  if (annotationValue(pod, held.interface, annotation.portSecurity) === 'false') return [];
  return [[portAddresses(held.allocation), ...extra].join(' ')];
}

function externalIds(
  view: View,
  pod: Pod,
  { allocation }: HeldPort,
  { extra, groups }: PortFacts,
): Readonly<Record<string, string>> {
  const vpc = vpcNameOf(view.subnets.get(allocation.subnet)?.spec ?? { vpc: '' });
  const ids: Record<string, string> = { ...vendorIds, pod: podKey(pod), ls: allocation.subnet };
  addGroupIds(ids, groups, vpc);
  if (extra.length > 0) Object.assign(ids, { vips: extra.join(','), 'attach-vips': 'true' });
  return ids;
}

/** The row of a port, pinned to its addresses and its node. */
export function portRow(view: View, pod: Pod, held: HeldPort, facts: PortFacts): DesiredRow {
  const { port, allocation } = held;
  return {
    table: 'Logical_Switch_Port',
    key: port,
    columns: {
      addresses: [portAddresses(allocation)],
      port_security: portSecurity(pod, held, facts.extra),
      options: bindingOptions(view, held),
      external_ids: externalIds(view, pod, held, facts),
      ...dhcpColumns(view, pod, held),
    },
    parent: { table: 'Logical_Switch', key: allocation.subnet, column: 'ports' },
  };
}
