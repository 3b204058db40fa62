/**
 * `set` takes the complete wanted value, such as the host network, and makes it so, whatever was there; the same value again changes
 * nothing. Implemented by the kernel (network.ts) and by printable text (printable.ts, for tests).
 */
import type { Problem } from '../../lib/desired/problem.ts';

export interface HostProblem extends Problem {
  /** Whose wish was refused; undefined where the node itself cannot work as it should. */
  readonly subnet?: string;
  /** What was learned by BGP and cannot be routed, which is no fault of the node. */
  readonly prefix?: string;
}

/** Code of the problem that Open vSwitch has not made an interface. */
export const linkMissing = 'LinkMissing';

/** Whether a problem is one of what somebody wishes, and not of the node itself. */
export function isWish({ subnet, prefix }: HostProblem): boolean {
  return subnet !== undefined || prefix !== undefined;
}

export interface HostTarget<W> {
  /** What could not be done, each with its cause; the rest was done. Empty when the host is as wanted. */
  set(wanted: W): Promise<readonly HostProblem[]>;
}
