/**
 * A target takes the complete wanted value, such as the host network, and makes the host agree with it, whatever was there before;
 * the same value again changes nothing. The kernel implements it (network.ts), and so does printable text (printable.ts, for tests).
 */
import type { Problem } from '../../lib/desired/problem.ts';

export interface HostProblem extends Problem {
  /** The subnet that asked for what was refused; undefined if the node itself cannot work as it should. */
  readonly subnet?: string;
  /** A prefix learned by BGP that cannot be routed, which is no fault of the node. */
  readonly prefix?: string;
}

/** Code of the problem that Open vSwitch has not made an interface. */
export const linkMissing = 'LinkMissing';

/** Whether a problem concerns the request of a subnet or of a router only, and not the node itself. */
export function isOfRequest({ subnet, prefix }: HostProblem): boolean {
  return subnet !== undefined || prefix !== undefined;
}

export interface HostTarget<W> {
  /** Returns what could not be done, each with its cause; the rest was done. Empty if the host is as wanted. */
  set(wanted: W): Promise<readonly HostProblem[]>;
}

/** The subnet that a change is for, and the advice to the user if the kernel refuses it. */
export interface Requester {
  /** Undefined for changes of the node itself. */
  readonly subnet?: string;
  readonly advice: string;
}

/** Runs one change; a refusal becomes a problem. */
export type Attempt = (code: string, work: () => Promise<void>, requester?: Requester) => Promise<void>;
