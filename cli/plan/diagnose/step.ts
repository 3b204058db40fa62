/**
 * What a step of the diagnosis is: a pure look at the snapshots, which says how it stands, on what evidence, and what
 * to do. A step that another one explains names it in `needs`; the table in steps.ts has their order.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Snapshot } from '../../model/snapshot.ts';

export interface Cause extends Problem {
  /** What to do, with the command where there is one. */
  readonly fix: string;
}

/** warning: works, but not as it should, or not for long; unknown: the evidence is missing. */
export type StepState = 'ok' | 'warning' | 'failed' | 'unknown';

export interface Outcome {
  readonly state: StepState;
  readonly evidence: string;
  readonly causes: readonly Cause[];
}

/** One direction of looking: from the cluster asked to a peer. */
export interface Side {
  readonly near: Snapshot;
  /** The other cluster, where it can be read. */
  readonly far: Snapshot | undefined;
  /** Its name among the members; undefined where all peers are meant. */
  readonly peer: string | undefined;
}

export type StepId =
  | 'membership'
  | 'clock'
  | 'agent'
  | 'certificate'
  | 'hub'
  | 'hub-databases'
  | 'joined'
  | 'databases'
  | 'gateway-nodes'
  | 'gateway-health'
  | 'chassis'
  | 'drain'
  | 'failover'
  | 'reports'
  | 'siblings'
  | 'transit'
  | 'ports'
  | 'conflicts'
  | 'converged'
  | 'peer'
  | 'tunnels'
  | 'mtu'
  | 'paths'
  | 'takeover'
  | 'policy'
  | 'offer'
  | 'routes';

export interface Step {
  readonly id: StepId;
  readonly name: string;
  /** Steps whose failure, on either side, is reason enough for this one's. */
  readonly needs: readonly StepId[];
  /** Undefined: there is nothing to look at. */
  readonly check: (side: Side) => Outcome | undefined;
}

export function ok(evidence: string): Outcome {
  return { state: 'ok', evidence, causes: [] };
}

export function unknown(evidence: string): Outcome {
  return { state: 'unknown', evidence, causes: [] };
}

export function cause(code: string, message: string, fix: string): Cause {
  return { code, message, fix };
}

/** Failed with these causes, or well with that evidence where there is none. */
export function failedIf(causes: readonly Cause[], evidence: string): Outcome {
  return causes.length === 0 ? ok(evidence) : { state: 'failed', evidence: codesOf(causes), causes };
}

export function warnIf(causes: readonly Cause[], evidence: string): Outcome {
  return causes.length === 0 ? ok(evidence) : { state: 'warning', evidence: codesOf(causes), causes };
}

/** Failed where there is a failure, else a warning where there is one. */
export function judged(failures: readonly Cause[], warnings: readonly Cause[], evidence: string): Outcome {
  if (failures.length === 0) return warnIf(warnings, evidence);
  return { state: 'failed', evidence: codesOf(failures), causes: [...failures, ...warnings] };
}

function codesOf(causes: readonly Cause[]): string {
  return [...new Set(causes.map(({ code }) => code))].join(', ');
}
