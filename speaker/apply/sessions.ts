import type { GobgpClient } from 'gobgp-js';
import type { SessionHistory } from '../model/session-history.ts';
import type { ObservedSession } from '../model/observed.ts';
import { historyAfter, observedSession } from '../settle/session-history.ts';

/**
 * All sessions by address.
 * @param history by address, brought up to date
 * @param nowMs by the monotonic clock
 * @throws GobgpUnreachable | GobgpRejected
 */
export async function readSessions(
  client: GobgpClient,
  history: Map<string, SessionHistory>,
  nowMs: number,
): Promise<ReadonlyMap<string, ObservedSession>> {
  const peers = await client.listPeers();
  const sessions = peers.map(({ config: { address }, session }) => {
    const known = historyAfter(history.get(address), session, nowMs);
    history.set(address, known);
    return [address, observedSession(session, known)] as const;
  });
  return new Map(sessions);
}
