/** Plans and reports of keys as if the database had all rows; used by tests only. */
import type { View } from './model/view.ts';
import { planKey, reportKey } from './plan/plan.ts';
import type { Outcome } from './plan/report.ts';

/** All planned rows are there, and no others. */
export const allApplied: Outcome = {
  refusals: new Map(),
  rows: {
    hasPort: () => true,
    hasSwitch: () => true,
    hasRouter: () => true,
    dhcpOptions: () => undefined,
  },
};

/** Rows and reports of a key, as one comparable text. */
export function planned(view: View, key: string): string {
  return JSON.stringify([planKey(view, key), reportKey(view, key, allApplied)]);
}

/** Annotations and status of the pod `namespace/name` as they are written. */
export function reportedPod(view: View, name: string) {
  const [report] = reportKey(view, `pod/${name}`, allApplied);
  return { annotations: report?.annotations, status: { conditions: report?.status?.conditions } };
}
