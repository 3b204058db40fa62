/** What decisions about members are made from, and what they are. */
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
  /** Since when the holder of the Lease leads without one. */
  readonly withoutPlanSinceMs: number;
  readonly replaceAfterMs: number;
}

export interface Decision {
  /** The same object where nothing changes. */
  readonly plan: Plan | undefined;
  readonly status: string;
}
