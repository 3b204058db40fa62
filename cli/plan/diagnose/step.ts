/**
 * The definition of a step of the diagnosis: a pure function of the snapshots that returns the state, the evidence, and
 * what to do. A step names in `needs` the steps that can explain its failure; the table in steps.ts has their order.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Snapshot } from '../../model/snapshot.ts';

export interface Cause extends Problem {
  /** What to do, with the command if there is one. */
  readonly fix: string;
}

/** warning: works, but with a limitation or not for long; unknown: the evidence is missing. */
export type StepState = 'ok' | 'warning' | 'failed' | 'unknown';

export interface Outcome {
  readonly state: StepState;
  readonly evidence: string;
  readonly causes: readonly Cause[];
}

/** One direction of the diagnosis: from the examined cluster to a peer. */
export interface Side {
  readonly near: Snapshot;
  /** The other cluster, if it can be read. */
  readonly far: Snapshot | undefined;
  /** Its name among the members; undefined means all peers. */
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
  | 'encryption'
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
  /** Steps whose failure, on either side, explains the failure of this one. */
  readonly needs: readonly StepId[];
  /** Undefined if there is nothing to check. */
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

/** Failed if there are causes, otherwise ok with the evidence. */
export function failedIf(causes: readonly Cause[], evidence: string): Outcome {
  return causes.length === 0 ? ok(evidence) : { state: 'failed', evidence: codesOf(causes), causes };
}

export function warnIf(causes: readonly Cause[], evidence: string): Outcome {
  return causes.length === 0 ? ok(evidence) : { state: 'warning', evidence: codesOf(causes), causes };
}

/** Failed if there are failures, otherwise a warning if there are warnings. */
export function judged(failures: readonly Cause[], warnings: readonly Cause[], evidence: string): Outcome {
  if (failures.length === 0) return warnIf(warnings, evidence);
  return { state: 'failed', evidence: codesOf(failures), causes: [...failures, ...warnings] };
}

function codesOf(causes: readonly Cause[]): string {
  return [...new Set(causes.map(({ code }) => code))].join(', ');
}
