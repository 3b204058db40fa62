import type { Problem } from '../../lib/desired/problem.ts';
import { type GobgpClient, GobgpInvalidArgument, GobgpRejected, GobgpUnsupported } from 'gobgp-js';
import type { Steps } from './steps.ts';

/** The problem for a call that gobgpd refuses or does not support: `Rejected`, `InvalidArgument`, `Unsupported`. @throws all other errors */
export function refusalOf(error: unknown): Problem {
  for (const kind of [GobgpRejected, GobgpInvalidArgument, GobgpUnsupported])
    if (error instanceof kind) return { code: error.code.replace('Gobgp', ''), message: error.message };
  throw error;
}

/**
 * Applies the steps to gobgpd, in their order. All of them can be repeated after a failure in the middle.
 * @param wasEstablished whether a session with this address existed before gobgpd was restarted
 * @returns the problems of peers that gobgpd refused, by address
 * @throws GobgpUnreachable, and the refusal of a step that concerns more than one peer
 */
export async function applySteps(
  client: GobgpClient,
  steps: Steps,
  wasEstablished: (address: string) => boolean,
): Promise<ReadonlyMap<string, Problem>> {
  const refused = new Map<string, Problem>();
  const onePeer = async (address: string, call: Promise<void>): Promise<void> => {
    try {
      await call;
    } catch (error) {
      refused.set(address, refusalOf(error));
    }
  };
  const isFresh = steps.startBgp !== undefined;
  if (steps.startBgp) await client.startBgp(steps.startBgp);
  for (const address of steps.deletePeers) await client.deletePeer(address);
  if (steps.setPolicies) await client.setPolicies(steps.setPolicies);
  // New paths are added before old ones are withdrawn: an aggregate replaces its addresses without a gap.
  await client.addPaths(steps.addPaths);
  // When policies change, gobgpd 3 sends newly allowed paths but withdraws none; only a withdrawal for all peers removes a path.
  const takenBack = client.generation === 'v3' ? steps.takenBack : [];
  await client.withdrawPaths([...steps.withdraw, ...takenBack.map(({ prefix }) => prefix)]);
  await client.addPaths(takenBack);
  if (steps.prunePolicies) await client.setPolicies(steps.prunePolicies);
  for (const address of steps.resendTo) await client.resetPeer(address, { soft: true, direction: 'out' });
  for (const peer of steps.updatePeers) await onePeer(peer.address, client.updatePeer(peer));
  for (const peer of steps.addPeers) {
    // The flag makes gobgpd hold back routes until the peer has sent its own, so it must not be set for peers that were never established.
    await onePeer(peer.address, client.addPeer(peer, { isRestarting: isFresh && wasEstablished(peer.address) }));
  }
  return refused;
}
