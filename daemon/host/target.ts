/**
 * `set` takes the complete wanted host network and makes it so, whatever was there; the same value again changes
 * nothing. Implemented by the kernel (network.ts) and by printable text (printable.ts, for tests).
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostNetwork } from '../plan/host-network.ts';

export interface HostProblem extends Problem {
  /** Whose wish was refused; undefined where the node itself cannot work as it should. */
  readonly subnet?: string;
}

export interface HostTarget {
  /** What could not be done, each with its cause; the rest was done. Empty when the host is as wanted. */
  set(wanted: HostNetwork): Promise<readonly HostProblem[]>;
}
