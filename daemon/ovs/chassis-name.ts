/** Keeps the chassis name of the node in its database: without it ovn-controller stands still. */
import { OvsdbError, type OvsdbClient } from 'ovsdb-client';
import type { Logger } from '../../lib/run/logger.ts';
import { ensureSystemId, systemId } from './local.ts';

/** Puts the name back that was there last when somebody takes it away; another one that a person sets stays. Returns how to stop. */
export function keepChassisName(client: OvsdbClient, name: string, log: Pick<Logger, 'warn'>): () => void {
  let known = name;
  let isWriting = false;
  const check = (): void => {
    const now = systemId(client);
    if (now !== undefined) known = now;
    if (now !== undefined || isWriting || client.state !== 'synced') return;
    isWriting = true;
    void putBack().finally(() => (isWriting = false));
  };
  const putBack = async (): Promise<void> => {
    log.warn(
      { chassis: known },
      'somebody took external_ids:system-id away, by which OVN knows this node; it is put back',
    );
    try {
      await ensureSystemId(client, () => known);
    } catch (error) {
      // The connection was lost: with the next one it is looked at again.
      if (!(error instanceof OvsdbError)) throw error;
      log.warn({ code: error.code }, `external_ids:system-id could not be put back: ${error.message}`);
    }
  };
  const stops = [client.subscribe(check), client.onState(check)];
  return () => stops.forEach((stop) => stop());
}
