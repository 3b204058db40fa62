/** How much a run measures. Another size than that of the targets leaves docs/performance.md unchanged. */

const given: string[] = [];

function size(variable: string, whole: number): number {
  const text = process.env[variable];
  if (text === undefined || text === '') return whole;
  given.push(variable);
  return Number(text);
}

export const sizes = {
  /** Pods of the cluster, and policies about them. */
  pods: size('PODS', 10_000),
  policies: size('POLICIES', 1000),
  /** Pods whose label is changed, each once and back. */
  labels: size('LABELS', 200),
  /** Pods that are created under policies, and as many without. */
  created: size('CREATED', 50),
  edits: size('EDITS', 1000),
} as const;

export const isFullSize = given.length === 0;
