import type { DesiredRow } from '../../../lib/desired/row.ts';
import { withAclText } from '../../../lib/policies/acl-text.ts';
import { vendorIds } from '../names.ts';
import { dropMeter } from './drop-meter.ts';

/** An ACL of a port group. */
export interface Acl {
  /** `to-lport`: what reaches a port; `from-lport`: what it sends. */
  readonly direction: 'to-lport' | 'from-lport';
  readonly priority: number;
  readonly match: string;
  readonly action: 'allow-related' | 'drop' | 'pass';
  /** Undefined if OVN has none. */
  readonly tier: number | undefined;
  /** For what a port sends: whether it sees packets after load balancers have translated them. */
  readonly isAfterLb?: boolean;
  /** The policy and the rules that it comes from, by which nodes count its packets; undefined if it is not counted. */
  readonly text?: string | undefined;
  /** Whether OVN reports samples of the packets that it decides (ADR 52). */
  readonly isSampled?: boolean;
}

/** The longest name that the column takes. */
const longestName = 63;

function sampling({ isSampled, text }: Acl): DesiredRow['columns'] {
  if (isSampled !== true) return {};
  const name = text === undefined ? {} : { name: text.slice(0, longestName) };
  return { log: true, severity: 'info', meter: dropMeter, ...name };
}

/**
 * Keyed by its content, so that an edit of one rule touches one row. The text is no part of it: where a rule moves, its row stays. An ACL with samples is another
 * row, so that the columns of samples are nobody's without them. `of`: what in the group it belongs to, if not to the group; with its ids.
 */
export function aclRow(
  group: string,
  acl: Acl,
  of?: { readonly name: string; readonly ids: Readonly<Record<string, string>> },
): DesiredRow {
  const { direction, priority, match, action, tier, isAfterLb, text, isSampled } = acl;
  const place = of === undefined ? group : `${of.name}/${group}`;
  const way = `${isAfterLb === true ? 'after-lb' : direction}${isSampled === true ? '/sampled' : ''}`;
  return {
    table: 'ACL',
    key: `${place}/${way}/${tier ?? ''}/${priority}/${action}/${match}`,
    columns: {
      direction,
      priority,
      match: withAclText(match, text),
      action,
      ...(tier === undefined ? {} : { tier }),
      ...(isAfterLb === true && { options: { 'apply-after-lb': 'true' } }),
      ...sampling(acl),
      external_ids: { ...vendorIds, parent: group, ...of?.ids },
    },
    parent: { table: 'Port_Group', key: group, column: 'acls' },
  };
}

/** A port group that collects ports. */
export function portGroupRow(key: string, ids: Readonly<Record<string, string>>): DesiredRow {
  return { table: 'Port_Group', key, columns: { external_ids: ids }, collects: ['ports'] };
}
