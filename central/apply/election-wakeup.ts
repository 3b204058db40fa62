/**
 * Wakes the ovn-controllers after an election of the southbound database. An election cancels the transactions that are under way, and ovn-controller
 * retries a canceled transaction only after the next change of the database: on a quiet cluster, the new ports of its node would wait for it. In: the
 * term of the leader, from the reports. Out: another number in `nb_cfg` of the northbound database, which northd copies to the southbound one. The
 * same row records the term, so that a restart writes nothing. Run by the holder of the Lease.
 */
import { openOvsdb, OvsdbError, type OvsdbOptions } from 'ovsdb-client';
import { mapOf } from '../../lib/ovn/columns.ts';
import { raiseNbCfg } from '../../lib/ovn/nb-cfg.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import type { Logger } from '../../lib/run/logger.ts';

/** Times after an election, ms: relays and ovn-controllers reconnect within seconds, and each of them can lose a transaction again. */
const stagesMs = [1000, 5000, 15_000] as const;
const retryMs = 2000;
const answerMs = 10_000;
const key = 'isthmus-southbound-election';

export interface ElectionWakeUpOptions {
  /** Term of the leader of the southbound database; undefined without a leader. */
  readonly term: () => number | undefined;
  /** Access to the northbound database; undefined while no server listens by this node's scheme. */
  readonly northbound: () => Pick<OvsdbOptions, 'remotes' | 'tls'> | undefined;
  readonly subscribe: (onChange: () => void) => () => void;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** Runs until the Lease is lost or released. */
export async function wakeAfterElections(options: ElectionWakeUpOptions, signal: AbortSignal): Promise<void> {
  const { nowMs, log } = options;
  let seen: { readonly term: number; readonly sinceMs: number; stage: number } | undefined;
  const engine: RoundEngine = new RoundEngine({
    run: async (): Promise<void> => {
      const [term, northbound] = [options.term(), options.northbound()];
      if (term === undefined || northbound === undefined) return;
      if (seen?.term !== term) seen = { term, sinceMs: nowMs(), stage: 0 };
      const stageMs = stagesMs[seen.stage];
      if (stageMs === undefined) return;
      const waitMs = seen.sinceMs + stageMs - nowMs();
      if (waitMs > 0) {
        engine.wakeAfter(waitMs);
        return;
      }
      try {
        const deadline = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
        seen.stage = await answer({ ...northbound, signal: deadline }, term, seen.stage + 1);
        engine.wakeAfter(0);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof OvsdbError) && !(error instanceof DOMException)) throw error;
        log.warn({ error: error.message }, 'ovn-controllers cannot be woken after an election, trying again');
        engine.wakeAfter(retryMs);
      }
    },
  });
  const unsubscribe = options.subscribe(() => engine.request());
  try {
    await engine.run(signal);
  } finally {
    unsubscribe();
  }
}

/** Returns the stage of this term that is recorded now. @throws OvsdbError, the signal's reason */
async function answer(
  access: Pick<OvsdbOptions, 'remotes' | 'tls' | 'signal'>,
  term: number,
  stage: number,
): Promise<number> {
  const client = await openOvsdb({
    ...access,
    database: 'OVN_Northbound',
    monitor: { NB_Global: ['nb_cfg', 'external_ids'] },
    leaderOnly: true,
  });
  try {
    const [row] = client.cache.table('NB_Global').rows.values();
    // northd creates the row; before that, no ovn-controller waits for anything.
    if (row === undefined) return stage;
    const [recordedTerm, recordedStage] = (mapOf(row, 'external_ids')[key] ?? '').split('.').map(Number);
    if (recordedTerm === term && recordedStage !== undefined && recordedStage >= stage) return recordedStage;
    await raiseNbCfg(client, [
      ['external_ids', 'delete', [key]],
      ['external_ids', 'insert', { [key]: `${term}.${stage}` }],
    ]);
    return stage;
  } finally {
    await client.close();
  }
}
