/** Rows that rules of several kinds have: translations of addresses, and policies that lead packets to the port outside. */
import { routerSwitchPort } from '../../../lib/api/names.ts';
import { ref, type DesiredRow } from '../../../lib/desired/row.ts';
import { bitsOf } from '../../../lib/net/ip.ts';
import { networksBeyondSet } from '../../model/ovn-names.ts';
import type { ExternalPair, ExternalRule } from '../../model/settled.ts';
import { matchFamily, vendorIds } from '../names.ts';

/** Whether the rows of a rule exist. */
export function isInForce(rule: ExternalRule | undefined): rule is ExternalRule {
  return rule !== undefined && rule.refusal === undefined && rule.obstacle === undefined;
}

export function natRow(
  name: string,
  type: 'snat' | 'dnat_and_snat',
  { vpc, subnet, local }: ExternalRule,
  { family, outside, inside }: ExternalPair,
): DesiredRow {
  return {
    table: 'NAT',
    key: `${name}/ipv${family}`,
    columns: {
      type,
      external_ip: outside,
      logical_ip: inside,
      // With both, OVN translates at the node of the pod.
      external_mac: local?.mac ?? null,
      logical_port: local?.port ?? null,
      gateway_port: ref('Logical_Router_Port', routerSwitchPort(vpc, subnet)),
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'nat' },
  };
}

export function prefixLengthOf({ family, inside }: ExternalPair): number {
  const slash = inside.indexOf('/');
  return slash < 0 ? bitsOf(family) : Number(inside.slice(slash + 1));
}

/**
 * The policies that lead packets of `source` to networks outside to the rule's port; none where they leave by it anyway. Hosts in the Subnet outside
 * are reached without its gateway, which would otherwise be on the way in one direction only.
 */
export function wayOutRows(
  name: string,
  { vpc, subnet }: Pick<ExternalRule, 'vpc' | 'subnet'>,
  { family, wayOut }: ExternalPair,
  { source, priority }: { readonly source: string; readonly priority: number },
): readonly DesiredRow[] {
  if (wayOut === undefined) return [];
  const dst = `${matchFamily(family)}.dst`;
  const row = (key: string, match: string, columns: DesiredRow['columns']): DesiredRow => ({
    table: 'Logical_Router_Policy',
    key: `${name}/ipv${family}${key}`,
    columns: { priority, match: `${source} && ${match}`, ...columns, external_ids: vendorIds },
    parent: { table: 'Logical_Router', key: vpc, column: 'policies' },
  });
  return [
    row('', `${dst} == $${networksBeyondSet(vpc, family, subnet)}`, { action: 'reroute', nexthops: [wayOut.gateway] }),
    row('/near', `${dst} == ${wayOut.network}`, { action: 'allow' }),
  ];
}
