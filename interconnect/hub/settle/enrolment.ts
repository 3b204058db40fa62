/** Whether a join token may be redeemed by a key. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';

export interface EnrolmentFacts {
  readonly claims: {
    readonly id: string;
    readonly cluster: string;
    readonly expiresMs: number;
    readonly replace: boolean;
  };
  /** Public key of the request. */
  readonly fingerprint: string;
  /** The key that redeemed the token before. */
  readonly redeemed: { readonly fingerprint: string; readonly spent: boolean } | undefined;
  /** The member that has the name now. */
  readonly member: { readonly fingerprint: string; readonly token: string } | undefined;
  /** The name of the member with this key, where that differs: it is to be renamed. */
  readonly renamed: string | undefined;
  /** The member whose ports and HubMember have the name of the token; it was renamed since. */
  readonly handleOf: string | undefined;
  /** Whether a HubMember waits for a cluster of that name. */
  readonly isAwaited: boolean;
  /** Whether an availability zone of that name exists that is not a member of this hub. */
  readonly isForeign: boolean;
  readonly nowMs: number;
}

/** Undefined: it may. */
export function refuseEnrolment(facts: EnrolmentFacts): Problem | undefined {
  const { claims, fingerprint, redeemed, member, nowMs } = facts;
  const anew = 'create a new one with `isthmus ic token`';
  if (redeemed !== undefined && redeemed.fingerprint !== fingerprint)
    return { code: 'TokenRedeemed', message: `join token ${claims.id} was already redeemed with another key; ${anew}` };
  if (redeemed?.spent === true)
    return { code: 'TokenSpent', message: `join token ${claims.id} belongs to a membership that has ended; ${anew}` };
  // A key that redeemed it in time may ask again: its first answer was lost.
  const isAgain = redeemed !== undefined || (member?.token === claims.id && member.fingerprint === fingerprint);
  if (!isAgain && nowMs > claims.expiresMs)
    return { code: 'TokenExpired', message: `join token ${claims.id} expired; ${anew}` };
  if (facts.isForeign) {
    const message = `an availability zone ${claims.cluster} that runs its own ovn-ic has this name; choose another`;
    return { code: 'ClusterNameTaken', message };
  }
  if (facts.handleOf !== undefined && facts.handleOf !== facts.renamed) {
    const message = `${facts.handleOf} was called ${claims.cluster} when it joined, and its ports still have that name; choose another name`;
    return { code: 'ClusterNameTaken', message };
  }
  if (facts.renamed !== undefined && (member !== undefined || facts.isAwaited)) {
    const message = `${facts.renamed} cannot be renamed to ${claims.cluster}: ${member === undefined ? `a HubMember ${claims.cluster} waits for a cluster of that name; delete it` : 'another cluster has that name'}`;
    return { code: 'ClusterNameTaken', message };
  }
  if (member === undefined || member.fingerprint === fingerprint || claims.replace) return undefined;
  const message = `cluster ${claims.cluster} has joined already with another key; have it leave first, or use a token created with --replace`;
  return { code: 'ClusterNameTaken', message };
}
