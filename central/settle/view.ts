/** The input and the result of decisions about members. */
import type { Candidate } from '../model/candidate.ts';
import type { Scheme } from '../model/databases.ts';
import type { Plan } from '../model/plan.ts';
import type { Reports } from '../model/report.ts';

export interface MembersView {
  readonly scheme: Scheme;
  readonly candidates: readonly Candidate[];
  readonly reports: Reports;
  readonly plan: Plan | undefined;
  readonly replicas: number | 'auto';
  readonly nowMs: number;
  /** Time since which the holder of the Lease leads without a plan. */
  readonly withoutPlanSinceMs: number;
  readonly replaceAfterMs: number;
}

export interface Decision {
  /** The same object if nothing changes. */
  readonly plan: Plan | undefined;
  readonly status: string;
}
