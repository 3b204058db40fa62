/** How the membership of this cluster stands, for conditions and metrics. */
import type { Problem } from '../../lib/desired/problem.ts';

export interface LinkState {
  readonly isJoined: boolean;
  /** The hub has answered in the present session. */
  readonly isConnected: boolean;
  /** Why it is not joined or not connected. */
  readonly problem: Problem | undefined;
  readonly notAfterMs: number | undefined;
  /** What the hub calls it, by its certificate; absent while it has none. */
  readonly cluster?: string;
  /** Why it is not called as wanted yet; absent where it is. */
  readonly renaming?: Problem;
  /** Why the certificate, which is due, could not be renewed. */
  readonly renewal?: Problem;
}
