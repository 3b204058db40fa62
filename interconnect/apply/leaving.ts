/** Ends the membership of this cluster at the hub. In: the stored identity. Out: a hub that has forgotten it. */
import { openHubLink } from '../link/client.ts';
import { HubRefused } from '../link/protocol.ts';
import type { IdentityStore } from './identity.ts';

/** @throws HubRefused, HubUnreachable, what the store throws */
export async function leaveHub(hub: string, store: IdentityStore): Promise<void> {
  const stored = await store.load();
  if (stored?.certificate === undefined || stored.ca === undefined) return;
  const link = openHubLink(hub, { key: stored.key, certificate: stored.certificate, ca: stored.ca });
  try {
    await link.leave();
  } catch (error) {
    // A certificate that has expired, or that another authority issued before the hub was made again, has no
    // membership to end.
    if (!(error instanceof HubRefused && error.code === 'CertificateInvalid')) throw error;
  } finally {
    link.close();
  }
}
