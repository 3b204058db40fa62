/** Differences between a report and the observed object, as parts of a patch. Undefined if nothing differs. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { ObjectReport, StatusReport } from '../plan/report.ts';
import { mergeConditions } from './conditions.ts';
import type { Observed } from './observed.ts';

type Fields = Readonly<Record<string, unknown>>;

interface MetadataPatch {
  readonly annotations?: Fields;
  readonly labels?: Fields;
  readonly finalizers?: readonly string[];
}

export interface ObjectPatch {
  readonly metadata: MetadataPatch;
  readonly spec?: Fields;
}

export interface StatusPatch {
  readonly fields: readonly (readonly [string, unknown])[];
  /** The whole list; undefined if no condition differs. */
  readonly conditions: readonly Condition[] | undefined;
}

/** The entries of `wanted` that differ; null stands for an absent one. The API server returns the keys of objects in an order of its own. */
function entriesOf(wanted: Fields, observed: Fields): readonly (readonly [string, unknown])[] {
  return Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? null, observed[key] ?? null));
}

function differing(wanted: Fields | undefined, observed: Fields | undefined): Fields | undefined {
  const entries = wanted === undefined ? [] : entriesOf(wanted, observed ?? {});
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join();
}

export function metadataDifference(report: ObjectReport, observed: Observed): MetadataPatch | undefined {
  const annotations = differing(report.annotations, observed.annotations);
  const labels = differing(report.labels, observed.labels);
  const { finalizers } = report;
  const isKept = finalizers === undefined || isSameSet(finalizers, observed.finalizers ?? []);
  if (annotations === undefined && labels === undefined && isKept) return undefined;
  return { ...(annotations && { annotations }), ...(labels && { labels }), ...(isKept ? {} : { finalizers }) };
}

export function objectDifference(report: ObjectReport, observed: Observed): ObjectPatch | undefined {
  const metadata = metadataDifference(report, observed);
  const spec = differing(report.spec, observed.spec);
  return metadata === undefined && spec === undefined ? undefined : { metadata: metadata ?? {}, ...(spec && { spec }) };
}

export function statusDifference(
  { fields: wanted = {}, conditions: wantedConditions, absentConditions = [] }: StatusReport,
  observed: Observed,
  nowMs: number,
): StatusPatch | undefined {
  const fields = entriesOf(wanted, observed.status ?? {});
  const before = observed.conditions ?? [];
  const isKept = ({ type }: Condition): boolean => !absentConditions.includes(type);
  const kept = before.every(isKept) ? before : before.filter(isKept);
  const conditions = mergeConditions(kept, wantedConditions, nowMs);
  if (fields.length === 0 && conditions === before) return undefined;
  return { fields, conditions: conditions === before ? undefined : conditions };
}
