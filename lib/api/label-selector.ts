/** Label selectors as Kubernetes reads them. Pure. */
import type { LabelSelector } from './kinds/shared.ts';

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

/** Whether labels satisfy a selector: all parts must hold, an empty selector takes everything. */
export function matchesSelector(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return hasLabels && matchExpressions.every((expression) => meets(expression, labels[expression.key]));
}

function meets({ operator, values = [] }: Expression, value: string | undefined): boolean {
  const isListed = value !== undefined && values.includes(value);
  const answers = { In: isListed, NotIn: !isListed, Exists: value !== undefined, DoesNotExist: value === undefined };
  return answers[operator];
}
