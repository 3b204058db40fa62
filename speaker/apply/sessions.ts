import type { AddressFamily, GobgpClient, PeerSession } from 'gobgp-js';
import type { SessionHistory } from '../state/history.ts';
import type { ObservedSession } from '../state/observed.ts';

/**
 * All sessions by address.
 * @param history by address, brought up to date
 * @throws GobgpUnreachable | GobgpRejected
 */
export async function readSessions(
  client: GobgpClient,
  history: Map<string, SessionHistory>,
): Promise<ReadonlyMap<string, ObservedSession>> {
  const peers = await client.listPeers();
  const sessions = peers.map(({ config: { address }, session }) => {
    const known = after(history.get(address), session);
    history.set(address, known);
    return [address, observedSession(session, known)] as const;
  });
  return new Map(sessions);
}

function after(before: SessionHistory | undefined, session: PeerSession): SessionHistory {
  const isUp = session.state === 'Established';
  const isLost = before?.isUp === true && !isUp;
  const lastError = isUp ? before?.lastError : (session.reason ?? before?.lastError);
  return {
    isUp,
    flaps: (before?.flaps ?? 0) + (isLost ? 1 : 0),
    lastError,
    isLost: !isUp && (isLost || before?.isLost === true),
    lossReason: isUp ? undefined : (reasonOf(session) ?? before?.lossReason),
  };
}

/** A peer that is made anew knows of no reason. */
function reasonOf({ reason, detail }: PeerSession): SessionHistory['lossReason'] {
  return reason === undefined ? undefined : { reason, ...(detail !== undefined && { message: detail }) };
}

function observedSession(
  session: PeerSession,
  { flaps, lastError, isLost, lossReason }: SessionHistory,
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
    isOverLimit: session.adminState === 'PrefixLimit',
  };
}
