// The history of a session, updated with each reading of gobgpd, because gobgpd keeps no counts and forgets a session together with its peer.
import type { PeerSession } from 'gobgp-js';
import type { SessionHistory } from '../model/session-history.ts';

/** States in which gobgpd has a TCP connection with the neighbour. */
const connected: readonly PeerSession['state'][] = ['OpenSent', 'OpenConfirm', 'Established'];

/** The history after another reading. @param nowMs monotonic time */
export function historyAfter(before: SessionHistory | undefined, session: PeerSession, nowMs: number): SessionHistory {
  const isUp = session.state === 'Established';
  const isConnected = connected.includes(session.state);
  const isLost = before?.isUp === true && !isUp;
  const lastError = isUp ? before?.lastError : (session.reason ?? before?.lastError);
  return {
    isUp,
    flaps: (before?.flaps ?? 0) + (isLost ? 1 : 0),
    lastError,
    isLost: !isUp && (isLost || before?.isLost === true),
    isConnected,
    // It was connected until now: an event between two readings gets the time of the second reading.
    connectedAtMs: isConnected || before?.isConnected === true ? nowMs : before?.connectedAtMs,
    heardMs: heardAfter(before, session, nowMs),
    lossReason: isUp ? undefined : (reasonOf(session) ?? before?.lossReason),
  };
}

/** A session with a silent neighbour lasts for the hold time. */
function heardAfter(
  before: SessionHistory | undefined,
  { state, holdTimeSeconds = 0 }: PeerSession,
  nowMs: number,
): SessionHistory['heardMs'] {
  const known = before?.heardMs;
  const isGoingOn = known !== undefined && known.to === undefined;
  if (state === 'Established')
    return { from: isGoingOn ? known.from : nowMs, to: undefined, hold: holdTimeSeconds * 1000 };
  return isGoingOn ? { ...known, to: nowMs - known.hold } : known;
}

/** A recreated peer has no reason; the former reason is kept. */
function reasonOf({ reason, detail }: PeerSession): SessionHistory['lossReason'] {
  return reason === undefined ? undefined : { reason, ...(detail !== undefined && { message: detail }) };
}
