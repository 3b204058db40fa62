/**
 * The diagnosis: every step for this cluster, then for the other if it can be read. In: snapshots. Out: the result of each step, the causes, their
 * probable consequences, and notes. Pure. Called by `diagnose`, `status`, `verify`.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { steps } from './steps.ts';
import type { Cause, Outcome, Side, StepId } from './step.ts';

export interface StepReport extends Outcome {
  readonly id: StepId;
  readonly name: string;
  readonly cluster: string;
  /** The step that explains the failure of this step. */
  readonly because: StepId | undefined;
}

export interface FoundCause extends Cause {
  readonly cluster: string;
  readonly step: StepId;
}

export interface Diagnosis {
  readonly cluster: string;
  readonly peer: string | undefined;
  readonly isWell: boolean;
  readonly causes: readonly FoundCause[];
  readonly consequences: readonly FoundCause[];
  readonly warnings: readonly FoundCause[];
  readonly steps: readonly StepReport[];
  readonly unreadable: readonly Problem[];
}

export function diagnose({ near, far, peer }: Side): Diagnosis {
  const nearReports = reportsOf({ near, far, peer });
  const farReports = far === undefined ? [] : reportsOf({ near: far, far: near, peer: near.label });
  const all = [...nearReports, ...farReports];
  const broken = new Set(all.filter(({ state }) => state === 'failed').map(({ id }) => id));
  const reports = all.map((report) => ({ ...report, because: explanation(report, broken) }));
  const failed = reports.filter(({ state }) => state === 'failed');
  const causes = collect(failed.filter(({ because }) => because === undefined));
  return {
    cluster: near.label,
    peer,
    isWell: failed.length === 0,
    causes,
    consequences: collect(failed.filter(({ because }) => because !== undefined)).filter(isNewTo(causes)),
    warnings: collect(reports.filter(({ state }) => state === 'warning')),
    steps: reports,
    unreadable: [near, far].flatMap((side) => side?.unreadable ?? []),
  };
}

function reportsOf(side: Side): readonly StepReport[] {
  // The other steps do not apply to a cluster that is not a member.
  const meant = side.near.interconnect === undefined ? steps.slice(0, 1) : steps;
  return meant.flatMap(({ id, name, check }) => {
    const outcome = check(side);
    return outcome === undefined ? [] : [{ id, name, cluster: labelOf(side.near), because: undefined, ...outcome }];
  });
}

function labelOf({ label }: Snapshot): string {
  return label;
}

/** The first failed step, in the order of the table, that this step needs directly or indirectly. */
function explanation(report: StepReport, broken: ReadonlySet<StepId>): StepId | undefined {
  if (report.state !== 'failed') return undefined;
  const needed = neededBy(report.id, new Set());
  return steps.find(({ id }) => id !== report.id && needed.has(id) && broken.has(id))?.id;
}

function neededBy(id: StepId, found: Set<StepId>): ReadonlySet<StepId> {
  for (const need of steps.find((step) => step.id === id)?.needs ?? []) {
    if (found.has(need)) continue;
    found.add(need);
    neededBy(need, found);
  }
  return found;
}

/** A cause that an earlier step of the same cluster has found is not reported again, even if a later step words it differently. */
function collect(reports: readonly StepReport[]): readonly FoundCause[] {
  const found = new Map<string, FoundCause>();
  const reported = new Map<string, StepId>();
  for (const { causes, cluster, id } of reports)
    for (const one of causes) {
      const before = reported.get(`${cluster} ${one.code}`);
      if (before !== undefined && before !== id) continue;
      reported.set(`${cluster} ${one.code}`, id);
      found.set(one.message, { ...one, cluster, step: id });
    }
  return [...found.values()];
}

function isNewTo(causes: readonly FoundCause[]): (one: FoundCause) => boolean {
  return ({ code, cluster }) => !causes.some((cause) => cause.code === code && cause.cluster === cluster);
}
