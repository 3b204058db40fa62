/**
 * The parsed ConfigMap isthmus-ovn-central, and the names of the keys and annotations that central reads and writes.
 */
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
  /** All keys, unparsed. */
  readonly data: Readonly<Record<string, string>>;
}

export interface Requests {
  /** Name of a node. */
  readonly recover?: string;
  /** `node/time`. */
  readonly restore?: string;
}
