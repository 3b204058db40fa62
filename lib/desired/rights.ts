/**
 * The order in which objects get an exclusive claim. Pure, and computed from the objects alone: their statuses show which claims
 * are in force, so that every room and every restart decides the same.
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

/** The rank of an object's right to a claim, from its status; the lowest is the best. */
type Right<T> = (object: T) => number;

/**
 * For kinds with one claim: the controller validated the present spec (0), a former spec (1), or refused the claim (2). `refusals`
 * are the reasons of Validated that count as a refusal; another flaw of the spec leaves the claim in force. Without `refusals`
 * every flaw counts.
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

/** For kinds with several claims: a list in the status names the claims in force. `claimOf` returns the claim in question. */
export function whereListed<T extends WithStatus>(field: string, claimOf: (object: T) => string): Right<T> {
  return (object) => (listedIn(object, field).includes(claimOf(object)) ? 0 : 1);
}

/** The strings in a list of an object's status. */
export function listedIn({ status }: WithStatus, field: string): readonly string[] {
  const listed = status[field];
  return Array.isArray(listed) ? listed.filter((one) => typeof one === 'string') : [];
}

/**
 * The order in which objects get an exclusive claim: objects whose claim is in force first, even before older objects that claim
 * it by an edit; then by age. The status shows which claims are in force, so that a restart decides the same.
 */
export function byRight<T>(rightOf: Right<T>): (a: T & Aged, b: T & Aged) => number {
  return (a, b) => rightOf(a) - rightOf(b) || byAge(a, b);
}

/** By age, then by name. */
export function byAge(a: Aged, b: Aged): number {
  if (a.createdMs !== b.createdMs) return a.createdMs - b.createdMs;
  return a.name < b.name ? -1 : Number(a.name > b.name);
}
