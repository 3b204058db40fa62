/** Parses the objects that central reads: Nodes that may serve, central's ConfigMap and the clients' ConfigMap. */
import type { RawObject } from '../../lib/kube/types.ts';
import type { Candidate } from '../model/candidate.ts';
import { parsePlan, parseReport } from './parse.ts';
import type { Report } from '../model/report.ts';
import { type CentralMap, recoverAnnotation, restoreAnnotation } from '../model/central-map.ts';

export function parseCentralMap(raw: RawObject): CentralMap {
  const { uid, resourceVersion, annotations = {} } = raw.metadata;
  const data = dataOf(raw);
  const reports = new Map<string, Report>();
  for (const [key, text] of Object.entries(data)) {
    const report = key.startsWith('node.') ? parseReport(text) : undefined;
    if (report !== undefined) reports.set(key.slice('node.'.length), report);
  }
  const [recover, restore] = [annotations[recoverAnnotation], annotations[restoreAnnotation]];
  return {
    uid,
    version: resourceVersion,
    planText: data['plan'],
    plan: parsePlan(data['plan']),
    reports,
    requests: { ...(recover === undefined ? {} : { recover }), ...(restore === undefined ? {} : { restore }) },
    data,
  };
}

export function dataOf(raw: RawObject): Readonly<Record<string, string>> {
  return (raw['data'] as Record<string, string> | undefined) ?? {};
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly lastTransitionTime?: string;
}

/** A Node without a Ready condition counts as not Ready since its creation. */
export function parseCandidate(raw: RawObject): Candidate {
  const { name, creationTimestamp } = raw.metadata;
  const createdMs = Date.parse(creationTimestamp ?? '') || 0;
  const { conditions = [] } = (raw['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
  const ready = conditions.find(({ type }) => type === 'Ready');
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? '') || createdMs;
  return { name, createdMs, notReadySinceMs: ready?.status === 'True' ? undefined : sinceMs };
}
