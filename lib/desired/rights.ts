/**
 * The order in which objects get what only one of them can have. Pure, and of the objects alone: what is in force shows in their
 * statuses, so that every room and every restart decides the same.
 */
import type { Condition } from '../api/kinds/shared.ts';

interface Aged {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
}

export interface Judged {
  readonly generation: number;
  readonly conditions: readonly Pick<Condition, 'type' | 'status' | 'reason' | 'observedGeneration'>[];
}

interface WithStatus {
  readonly status: Readonly<Record<string, unknown>>;
}

/** How good an object's right to a claim is, by its status; the lowest is the best. */
type Right<T> = (object: T) => number;

/**
 * Of kinds with one claim: the controller judged the spec as it is, a former one, or refused the claim. `refusals` are the reasons of
 * Validated that stand for a refusal; another flaw of the spec takes nothing from what is in force. Without them every flaw does.
 */
export function unlessRefused(refusals?: ReadonlySet<string>): Right<Judged> {
  return ({ conditions, generation }) => {
    const validated = conditions.find(({ type }) => type === 'Validated');
    const isFlawed = validated !== undefined && validated.status !== 'True';
    const isRefused = isFlawed && (refusals === undefined || refusals.has(validated.reason ?? ''));
    if (validated === undefined || isRefused) return 2;
    return validated.observedGeneration === generation ? 0 : 1;
  };
}

/** Of kinds with many claims: a list of the status names those in force. `claimOf` gives the claim in question. */
export function whereListed<T extends WithStatus>(field: string, claimOf: (object: T) => string): Right<T> {
  return (object) => (listedIn(object, field).includes(claimOf(object)) ? 0 : 1);
}

/** The texts in a list of an object's status. */
export function listedIn({ status }: WithStatus, field: string): readonly string[] {
  const listed = status[field];
  return Array.isArray(listed) ? listed.filter((one) => typeof one === 'string') : [];
}

/**
 * The order in which objects get what only one can have: what is in force keeps it, against older objects that come to ask for it
 * by an edit, too; then by age. The status tells what is in force, so that a restart decides the same.
 */
export function byRight<T>(rightOf: Right<T>): (a: T & Aged, b: T & Aged) => number {
  return (a, b) => rightOf(a) - rightOf(b) || byAge(a, b);
}

/** By age, then name: the order in which objects have a say. */
export function byAge(a: Aged, b: Aged): number {
  if (a.createdMs !== b.createdMs) return a.createdMs - b.createdMs;
  return a.name < b.name ? -1 : Number(a.name > b.name);
}
