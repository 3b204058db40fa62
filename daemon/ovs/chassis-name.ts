/** Keeps the chassis name of the node in its database, because ovn-controller stops working without it. */
import { OvsdbError, type OvsdbClient } from 'ovsdb-client';
import type { Logger } from '../../lib/run/logger.ts';
import { ensureSystemId, systemId } from './local.ts';

/** Restores the last name after it was removed; a name that an administrator sets stays. Returns a function that stops this. */
export function keepChassisName(client: OvsdbClient, name: string, log: Pick<Logger, 'warn'>): () => void {
  const ending = new AbortController();
  let known = name;
  let isWriting = false;
  const check = (): void => {
    const now = systemId(client);
    if (now !== undefined) known = now;
    if (now !== undefined || isWriting || client.state !== 'synced') return;
    isWriting = true;
    void restore().finally(() => (isWriting = false));
  };
  const restore = async (): Promise<void> => {
    log.warn(
      { chassis: known },
      'external_ids:system-id, by which OVN identifies this node, was removed outside of Isthmus; the daemon restores it',
    );
    try {
      await ensureSystemId(client, () => known, ending.signal);
    } catch (error) {
      if (ending.signal.aborted) return;
      // The connection was lost; the name is checked again with the next connection.
      if (!(error instanceof OvsdbError)) throw error;
      log.warn({ code: error.code }, `external_ids:system-id could not be restored: ${error.message}`);
    }
  };
  const stops = [client.subscribe(check), client.onState(check)];
  return () => {
    ending.abort();
    stops.forEach((stop) => stop());
  };
}
