/** Determines which rows of the southbound database belong to nodes. They get a tag, and are removed after their node. Pure. */
import { annotation, externalId, vendor } from '../../../lib/api/names.ts';
import type { View } from '../../model/view.ts';

/** A row of the table Chassis. */
export interface ChassisRow {
  readonly name: string;
  readonly hostname: string;
  readonly externalIds: Readonly<Record<string, string>>;
  /** Of another cluster, put there by the interconnect. */
  readonly isRemote: boolean;
}

export interface ChassisPlan {
  /** Entries that external_ids shall have, by chassis. */
  readonly tags: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Chassis to remove, and why. */
  readonly removals: ReadonlyMap<string, string>;
}

const nodeTag = 'node';

/** Why a chassis that no node claims is removed; undefined if it stays. */
function removalOf(view: Pick<View, 'nodes'>, { name, hostname, externalIds }: ChassisRow): string | undefined {
  // A chassis without the tag may belong to a node that is not registered yet, or to a gateway outside the cluster.
  if (externalIds[externalId.vendor] !== vendor) return undefined;
  const nodeName = externalIds[nodeTag] ?? hostname;
  const node = view.nodes.get(nodeName);
  if (nodeName === '') return undefined;
  if (node === undefined) return `node ${nodeName} is gone`;
  const current = node.annotations[annotation.chassis] ?? '';
  return current === '' || current === name ? undefined : `node ${nodeName} is chassis ${current} now`;
}

/** Plans the writes for the existing chassis. A chassis belongs to the node whose annotation names it. */
export function planChassis(view: Pick<View, 'nodes'>, rows: Iterable<ChassisRow>): ChassisPlan {
  const tags = new Map<string, Readonly<Record<string, string>>>();
  const removals = new Map<string, string>();
  const nodes = new Map<string, string>();
  for (const { name, annotations } of view.nodes.values()) nodes.set(annotations[annotation.chassis] ?? '', name);
  for (const row of rows) {
    if (row.isRemote) continue;
    const node = nodes.get(row.name);
    if (node === undefined) {
      const reason = removalOf(view, row);
      if (reason !== undefined) removals.set(row.name, reason);
      continue;
    }
    const wanted = { [externalId.vendor]: vendor, [nodeTag]: node };
    if (Object.entries(wanted).some(([key, value]) => row.externalIds[key] !== value)) tags.set(row.name, wanted);
  }
  return { tags, removals };
}
