/**
 * Which entries in map columns of northbound rows this room writes, and removes when it wants them no longer; all
 * others belong to other programs.
 */
import { externalId } from '../../lib/api/names.ts';
import type { OwnEntries } from '../../lib/desired/row.ts';

const ids: ReadonlySet<string> = new Set([externalId.owner, externalId.key]);
const portOptions: ReadonlySet<string> = new Set(['router-port', 'requested-tnl-key']);

export const ownEntries: OwnEntries = (table, column) => {
  if (column === 'external_ids') return (entry) => ids.has(entry);
  if (table === 'Logical_Switch_Port' && column === 'options') return (entry) => portOptions.has(entry);
  return undefined;
};
