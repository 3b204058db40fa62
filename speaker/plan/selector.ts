import type { LabelSelector } from '../../lib/api/kinds/shared.ts';

/** Whether labels satisfy a selector as Kubernetes reads it: all parts must hold, an empty selector takes everything. */
export function matchesSelector(labels: Readonly<Record<string, string>>, selector: LabelSelector): boolean {
  const hasLabels = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return hasLabels && (selector.matchExpressions ?? []).every((expression) => matchesExpression(labels, expression));
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

function matchesExpression(
  labels: Readonly<Record<string, string>>,
  { key, operator, values = [] }: Expression,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return operator satisfies never;
  }
}
