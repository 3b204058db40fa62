/**
 * Redeems a join token: a cluster's first certificate, or the one that gives it another name. In: what is wanted, what is
 * stored. Out: the identity, stored. The key is stored before a request for it leaves the cluster.
 */
import { readToken } from '../../lib/api/join-token.ts';
import { createKey, createRequest } from '../../lib/pki/certificate.ts';
import { joinHub, type LinkIdentity } from '../link/client.ts';
import { HubRefused } from '../link/protocol.ts';
import type { IdentityStore, StoredIdentity } from './identity.ts';

export interface Wish {
  readonly cluster: string;
  readonly hub: string;
  /** Where the token is: another place is a reason to look again. */
  readonly tokenRef: string;
  /** The join token's text; undefined while there is none. */
  readonly readToken: () => Promise<string | undefined>;
}

export interface Joiner {
  readonly store: IdentityStore;
  readonly stored: StoredIdentity | undefined;
  /** Of this cluster's gateways. */
  readonly chassis: readonly string[];
}

/** @throws HubRefused, HubUnreachable, what the store and the reader of the token throw */
export async function redeemToken(wish: Wish, { store, stored, chassis }: Joiner): Promise<LinkIdentity> {
  const token = await wish.readToken();
  if (token === undefined)
    throw new HubRefused({
      code: 'TokenMissing',
      message: `the Secret with the join token is not there or lacks the key; make a token for "${wish.cluster}" with \`isthmus ic token\``,
    });
  const claims = readToken(token);
  if ('code' in claims) throw new HubRefused(claims);
  if (claims.cluster !== wish.cluster) {
    const message = `the join token is for cluster "${claims.cluster}", this is "${wish.cluster}"; make one for this name with \`isthmus ic token\``;
    throw new HubRefused({ code: 'TokenForOtherCluster', message });
  }
  const key = stored?.key ?? (await createKey());
  if (stored === undefined) await store.save({ key });
  const issued = await joinHub(wish.hub, claims.ca, token, await createRequest(key, wish.cluster), chassis);
  await store.save({ key, ...issued, token: claims.id });
  return { key, ...issued };
}
