/** How the membership of this cluster stands, for conditions and metrics. */
import type { Problem } from '../../lib/desired/problem.ts';

export interface LinkState {
  readonly isJoined: boolean;
  /** The hub has answered in the present session. */
  readonly isConnected: boolean;
  /** Why it is not joined or not connected. */
  readonly problem: Problem | undefined;
  readonly notAfterMs: number | undefined;
  /** Its name at the hub, by its certificate; absent while it has none. */
  readonly cluster?: string;
  /** Why it does not have the wanted name yet; absent if it has. */
  readonly renaming?: Problem;
  /** Why the certificate, which is due, could not be renewed. */
  readonly renewal?: Problem;
}

export const noLink: LinkState = { isJoined: false, isConnected: false, problem: undefined, notAfterMs: undefined };

/** The membership that is wanted. */
export interface MembershipGoal {
  readonly cluster: string;
  readonly hub: string;
  /** Where the token is: another place is a reason to look again. */
  readonly tokenRef: string;
  /** The join token's text; undefined while there is none. */
  readonly readToken: () => Promise<string | undefined>;
}
