import type { Problem } from '../../lib/desired/problem.ts';
import { rankOf, statusKeyOf } from '../plan/plan.ts';

const none: ReadonlyMap<string, Problem> = new Map();

/** Database errors of keys, by the key whose status reports them. */
export class Refusals {
  readonly #byStatus = new Map<string, Map<string, Problem>>();

  /** Sets the error of a key; undefined once its rows are written. */
  set(key: string, problem: Problem | undefined): void {
    const statusKey = statusKeyOf(key);
    const errors = this.#byStatus.get(statusKey);
    if (problem !== undefined) {
      if (errors === undefined) this.#byStatus.set(statusKey, new Map([[key, problem]]));
      else errors.set(key, problem);
    } else if (errors?.delete(key) === true && errors.size === 0) this.#byStatus.delete(statusKey);
  }

  /** Errors of the key and of all keys whose status it is, in the order of `features.ts`. */
  of(key: string): ReadonlyMap<string, Problem> {
    const errors = this.#byStatus.get(key);
    if (errors === undefined) return none;
    return new Map([...errors].sort(([a], [b]) => rankOf(a) - rankOf(b)));
  }
}
