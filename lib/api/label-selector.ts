/** Label selectors with the semantics of Kubernetes. Pure. */
import type { LabelSelector } from './kinds/shared.ts';

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

const operators: ReadonlySet<unknown> = new Set<Expression['operator']>(['In', 'NotIn', 'Exists', 'DoesNotExist']);

/** Replaces an invalid selector: a selector without its invalid part would select too much. */
const nothing: LabelSelector = { matchExpressions: [{ key: '', operator: 'In', values: [] }] };

/** A raw value as a selector; an invalid selector selects nothing. */
export function readSelector(value: unknown): LabelSelector {
  if (!isSelector(value)) return nothing;
  const { matchLabels, matchExpressions } = value;
  return { ...(matchLabels && { matchLabels }), ...(matchExpressions && { matchExpressions }) };
}

export function isSelector(value: unknown): value is LabelSelector {
  if (!isRecord(value)) return false;
  const { matchLabels = {}, matchExpressions = [] } = value;
  const hasLabels = isRecord(matchLabels) && Object.values(matchLabels).every(isText);
  return hasLabels && Array.isArray(matchExpressions) && matchExpressions.every(isExpression);
}

function isExpression(value: unknown): value is Expression {
  if (!isRecord(value) || !isText(value['key']) || !operators.has(value['operator'])) return false;
  const { values = [] } = value;
  return Array.isArray(values) && values.every(isText);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Whether labels satisfy a selector: all parts must hold, an empty selector takes everything. */
export function matchesSelector(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return hasLabels && matchExpressions.every((expression) => meets(expression, labels[expression.key]));
}

/** The parts of a selector that labels do not satisfy, as kubectl writes them: `tier=db (it has tier=web)`. */
export function unmetParts(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): readonly string[] {
  const parts: readonly { readonly key: string; readonly text: string; readonly selector: LabelSelector }[] = [
    ...Object.entries(matchLabels).map(([key, value]) => ({
      key,
      text: `${key}=${value}`,
      selector: { matchLabels: { [key]: value } },
    })),
    ...matchExpressions.map((each) => ({
      key: each.key,
      text: expressionText(each),
      selector: { matchExpressions: [each] },
    })),
  ];
  const has = (key: string) => (labels[key] === undefined ? `no ${key}` : `${key}=${labels[key]}`);
  return parts
    .filter(({ selector }) => !matchesSelector(selector, labels))
    .map(({ key, text }) => `${text} (it has ${has(key)})`);
}

/** The parts of a selector, as kubectl writes them: `tier in (db, web)`; none for one that takes everything. */
export function selectorParts({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly string[] {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...labels, ...matchExpressions.map(expressionText)];
}

function expressionText({ key, operator, values = [] }: Expression): string {
  const list = values.join(', ');
  const texts = { In: `${key} in (${list})`, NotIn: `${key} notin (${list})`, Exists: key, DoesNotExist: `!${key}` };
  return texts[operator];
}

function meets({ operator, values = [] }: Expression, value: string | undefined): boolean {
  const isListed = value !== undefined && values.includes(value);
  const answers = { In: isListed, NotIn: !isListed, Exists: value !== undefined, DoesNotExist: value === undefined };
  return answers[operator];
}
