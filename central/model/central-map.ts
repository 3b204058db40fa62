/** The ConfigMap isthmus-ovn-central as it is parsed, and the names of what central reads and writes. */
import type { Plan } from './plan.ts';
import type { Report } from './report.ts';

export const centralName = 'isthmus-ovn-central';
export const clientsName = 'isthmus-ovn';
export const recoverAnnotation = 'isthmus.network/recover';
export const restoreAnnotation = 'isthmus.network/restore';

export interface CentralMap {
  readonly uid: string;
  readonly version: string;
  readonly planText: string | undefined;
  readonly plan: Plan | undefined;
  readonly reports: ReadonlyMap<string, Report>;
  readonly requests: Requests;
  /** Every key as it is written. */
  readonly data: Readonly<Record<string, string>>;
}

export interface Requests {
  /** A node. */
  readonly recover?: string;
  /** `node/time`. */
  readonly restore?: string;
}
