import type { Logger } from '../../lib/run/logger.ts';
import type { UpdateLag } from './update-lag.ts';
import type { Received } from '../model/received.ts';
import type { Observed } from '../model/observed.ts';

export interface TargetOptions {
  /** gobgpd's API: `unix:/path` or `host:port`. */
  readonly gobgpd: string;
  readonly protoDir?: string | undefined;
  readonly log: Logger;
  readonly random: () => number;
  readonly monotonicMs: () => number;
  /** Told of every call to gobgpd. */
  readonly onCall?: (method: string) => void;
  readonly onObserved: (observed: Observed) => void;
  /** What routers announce changed; the same map, which goes on changing. */
  readonly onReceived: (received: Received) => void;
  /** Told when changes are sent and answered. */
  readonly lag: UpdateLag;
  /** gobgpd was read anew, and so many of its prefixes were not as they had been left. */
  readonly onAudit: (differing: number) => void;
}
