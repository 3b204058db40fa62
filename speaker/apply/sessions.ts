import type { GobgpClient, PeerSession } from 'gobgp-js';
import type { ObservedSession } from '../state/observed.ts';

/** All sessions by address. @throws GobgpUnreachable | GobgpRejected */
export async function readSessions(client: GobgpClient): Promise<ReadonlyMap<string, ObservedSession>> {
  const peers = await client.listPeers({ advertised: true });
  return new Map(
    peers.map(({ config, session }) => [config.address, observedSession(session, client.generation === 'v4')]),
  );
}

/** @param isCountTrue gobgpd 3 counts the End-of-RIB marker as a path; no number is better than a wrong one */
function observedSession(session: PeerSession, isCountTrue: boolean): ObservedSession {
  const { state, advertised, adminState, reason, detail } = session;
  if (state === 'Established') return { state, ...(isCountTrue && { advertised }) };
  if (adminState === 'Down') return { state, reason: 'AdminDown', message: 'the peer is disabled in gobgpd' };
  if (reason === undefined) return { state };
  return { state, reason, ...(detail !== undefined && { message: detail }) };
}
