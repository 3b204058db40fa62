import type { GobgpClient, PeerSession } from 'gobgp-js';
import type { ObservedSession } from '../state/observed.ts';

/** All sessions by address. @throws GobgpUnreachable | GobgpRejected */
export async function readSessions(client: GobgpClient): Promise<ReadonlyMap<string, ObservedSession>> {
  const peers = await client.listPeers();
  return new Map(peers.map(({ config, session }) => [config.address, observedSession(session)]));
}

function observedSession(session: PeerSession): ObservedSession {
  const { state, adminState, reason, detail, received, flaps } = session;
  const counts = { received, flaps, receivedBy: { ipv4: received, ipv6: 0 } };
  if (state === 'Established') return { state, ...counts };
  if (adminState === 'Down')
    return { state, ...counts, reason: 'AdminDown', message: 'the peer is disabled in gobgpd' };
  if (reason === undefined) return { state, ...counts };
  return { state, ...counts, reason, ...(detail !== undefined && { message: detail }) };
}
