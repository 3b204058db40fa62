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
  /** Called for every call to gobgpd. */
  readonly onCall?: (method: string) => void;
  readonly onObserved: (observed: Observed) => void;
  /** Called when the routes that routers announce change; always with the same map object. */
  readonly onReceived: (received: Received) => void;
  /** Measures how long changes wait for gobgpd. */
  readonly lag: UpdateLag;
  /** Called after an audit, with the number of prefixes that other programs had changed. */
  readonly onAudit: (differing: number) => void;
}
