/**
 * Redeems a join token: the first certificate of a cluster, or one with another name. In: the wanted membership and the stored
 * identity. Out: the identity, stored. The key is stored before a request for it leaves the cluster.
 */
import { readToken } from '../../lib/pki/join-token.ts';
import { createKey, createRequest } from '../../lib/pki/certificate.ts';
import { joinHub, type LinkIdentity } from '../link/client.ts';
import { HubRefused } from '../link/protocol.ts';
import type { MembershipGoal } from '../model/link-state.ts';
import type { IdentityStore, StoredIdentity } from './identity.ts';

export interface Joiner {
  readonly store: IdentityStore;
  readonly stored: StoredIdentity | undefined;
  /** Of this cluster's gateways. */
  readonly chassis: readonly string[];
}

/** @throws HubRefused, HubUnreachable, what the store and the reader of the token throw */
export async function redeemToken(goal: MembershipGoal, { store, stored, chassis }: Joiner): Promise<LinkIdentity> {
  const token = await goal.readToken();
  if (token === undefined)
    throw new HubRefused({
      code: 'TokenMissing',
      message: `the Secret with the join token does not exist or lacks the key; create a token for "${goal.cluster}" with \`isthmus ic token\``,
    });
  const claims = readToken(token);
  if ('code' in claims) throw new HubRefused(claims);
  if (claims.cluster !== goal.cluster) {
    const message = `the join token is for cluster "${claims.cluster}", this is "${goal.cluster}"; create one for this name with \`isthmus ic token\``;
    throw new HubRefused({ code: 'TokenForOtherCluster', message });
  }
  const key = stored?.key ?? (await createKey());
  if (stored === undefined) await store.save({ key });
  const issued = await joinHub(goal.hub, claims.ca, token, await createRequest(key, goal.cluster), chassis);
  await store.save({ key, ...issued, token: claims.id });
  return { key, ...issued };
}
