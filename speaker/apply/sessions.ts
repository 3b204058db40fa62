import type { AddressFamily, GobgpClient, PeerSession } from 'gobgp-js';
import type { SessionHistory } from '../model/session-history.ts';
import type { ObservedSession } from '../model/observed.ts';
import { historyAfter } from '../settle/session-history.ts';

/**
 * All sessions by address.
 * @param history session history by address; it is updated
 * @param nowMs monotonic time
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

/** The session in the form that statuses and decisions use. */
function observedSession(
  session: PeerSession,
  { flaps, lastError, isLost, lossReason, connectedAtMs, heardMs }: SessionHistory,
): ObservedSession {
  const { state, establishedSince, localAddress, holdTimeSeconds, bfdState } = session;
  const receivedOf = (family: AddressFamily) => session.families.find((each) => each.family === family)?.received ?? 0;
  return {
    state,
    ...lossReason,
    received: { ipv4: receivedOf('ipv4-unicast'), ipv6: receivedOf('ipv6-unicast') },
    flaps,
    isLost,
    ...(lastError !== undefined && { lastError }),
    ...(establishedSince !== undefined && { establishedAt: new Date(establishedSince * 1000).toISOString() }),
    ...(localAddress !== undefined && { localAddress }),
    ...(holdTimeSeconds !== undefined && { holdTimeSeconds }),
    ...(bfdState !== undefined && { bfd: bfdState }),
    isDeferring: state === 'Established' && session.gracefulRestart?.isDeferring === true,
    ...(connectedAtMs !== undefined && { connectedAtMs }),
    ...(heardMs !== undefined && { heardMs: { from: heardMs.from, to: heardMs.to } }),
    isOverLimit: session.adminState === 'PrefixLimit',
  };
}
