/** Opens the hub's databases, and reports which of them do not answer for as long as that takes. */
import { openOvsdb, type OvsdbClient, type OvsdbOptions } from 'ovsdb-client';
import type { SilentDatabase } from '../../model/messages.ts';
import { icNorthbound, icSouthbound } from './databases.ts';
import { patienceMs, probeIntervalMs } from './liveness.ts';

export interface OpenDatabasesOptions {
  readonly northbound: readonly string[];
  readonly southbound: readonly string[];
  readonly common: Pick<OvsdbOptions, 'signal' | 'tls'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly patienceMs?: number;
  readonly onSilent: (databases: readonly SilentDatabase[]) => void;
  readonly log: { warn(fields: object, message: string): void };
}

/** Resolves when both are in sync, however long that takes. @throws the signal's reason */
export async function openDatabases(
  options: OpenDatabasesOptions,
): Promise<{ readonly northbound: OvsdbClient; readonly southbound: OvsdbClient }> {
  const { common, now, onSilent, log } = options;
  const sinceMs = now();
  const waiting = new Set<string>();
  let isLate = false;
  const report = (): void => onSilent([...waiting].sort().map((name) => ({ name, sinceMs })));
  const open = async (
    what: typeof icNorthbound | typeof icSouthbound,
    remotes: readonly string[],
  ): Promise<OvsdbClient> => {
    waiting.add(what.database);
    const client = await openOvsdb({ ...common, ...what, remotes, probeIntervalMs });
    waiting.delete(what.database);
    if (isLate) report();
    return client;
  };
  const late = setTimeout(() => {
    isLate = true;
    log.warn({ databases: [...waiting] }, 'databases of the hub do not answer: it serves once they do');
    report();
  }, options.patienceMs ?? patienceMs);
  try {
    const [northbound, southbound] = await Promise.all([
      open(icNorthbound, options.northbound),
      open(icSouthbound, options.southbound),
    ]);
    return { northbound, southbound };
  } finally {
    clearTimeout(late);
  }
}
