/** `NB_Global.nb_cfg`: raising it is how OVN is asked to follow, as `ovn-nbctl --wait=hv sync` does. */
import type { Cache, Mutation, OvsdbClient } from 'ovsdb-client';
import { integerOf } from './columns.ts';

/** Resolves with the number that all have to take up; undefined if northd, which makes the row, never ran. @throws OvsdbError */
export async function raiseNbCfg(
  northbound: OvsdbClient,
  beside: readonly Mutation[] = [],
): Promise<number | undefined> {
  const mutations: readonly Mutation[] = [['nb_cfg', '+=', 1], ...beside];
  await northbound.transact([{ op: 'mutate', table: 'NB_Global', where: [], mutations }]);
  return readNbGlobal(northbound.cache, 'nb_cfg');
}

/** `sb_cfg` is the `nb_cfg` that northd has processed. */
export function readNbGlobal(northbound: Cache, column: 'nb_cfg' | 'sb_cfg'): number | undefined {
  const row = northbound.table('NB_Global').rows.values().next().value;
  return row === undefined ? undefined : integerOf(row, column);
}
