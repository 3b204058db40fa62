/** The outcome of a check: its state, the evidence, and what to do. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { ChartValues } from '../../model/chart-values.ts';
import type { ClusterFacts } from '../../model/cluster-facts.ts';
import type { Cause } from '../diagnose/step.ts';

/** problem: the installation does not work as requested; warning: it works, with a limitation; unknown: decisive facts could not be read. */
export type CheckState = 'ok' | 'warning' | 'problem' | 'unknown';

export interface Outcome {
  readonly state: CheckState;
  readonly evidence: string;
  readonly problems: readonly Cause[];
  readonly warnings: readonly Cause[];
}

export interface Question {
  readonly facts: ClusterFacts;
  readonly values: ChartValues;
}

export interface Check {
  readonly name: string;
  /** Undefined if there is nothing to check with these values. */
  readonly judge: (question: Question) => Outcome | undefined;
}

interface Found {
  readonly problems?: readonly Cause[];
  readonly warnings?: readonly Cause[];
}

/** `evidence` is used if nothing was found. */
export function outcome(evidence: string, { problems = [], warnings = [] }: Found = {}): Outcome {
  const all = [...problems, ...warnings];
  const state = problems.length > 0 ? 'problem' : warnings.length > 0 ? 'warning' : 'ok';
  return { state, evidence: all.length === 0 ? evidence : codesOf(all), problems, warnings };
}

export function notSeen(what: string): Outcome {
  return { state: 'unknown', evidence: `${what} could not be read`, problems: [], warnings: [] };
}

/** Lists names of objects: the first few, then the number of the others. */
export function few(names: readonly string[], most = 5): string {
  if (names.length <= most) return names.join(', ');
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}

function codesOf(causes: readonly Problem[]): string {
  return [...new Set(causes.map(({ code }) => code))].join(', ');
}
