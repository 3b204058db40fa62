/** Whose figures are written now. In: members whose figures may be others. Out: a few at a time. Only people read them, and each is a write to etcd. */
import { TokenBucket } from '../../../lib/run/token-bucket.ts';

/** Where all paths of a mesh flap, other members come later. */
const mostAtOnce = 20;
/** A member changes a few times when it joins or is repaired, and without end where a path flaps. */
const limits = { burst: 5, refillMs: 30_000 };

export class DueFigures {
  readonly #waiting = new Set<string>();
  readonly #allowances = new Map<string, TokenBucket>();

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  changed(member: string): void {
    this.#waiting.add(member);
  }

  forget(member: string): void {
    this.#waiting.delete(member);
    this.#allowances.delete(member);
  }

  /**
   * The longest waiting first, without those that have been written too often. These go on waiting.
   * @param isNew whether the figures of a member are others than those that were written
   */
  take(isNew: (member: string) => boolean, nowMs: number): readonly string[] {
    const due: string[] = [];
    for (const member of this.#waiting) {
      if (due.length === mostAtOnce) break;
      if (isNew(member)) {
        const allowance = this.#allowances.get(member) ?? new TokenBucket(limits, nowMs);
        this.#allowances.set(member, allowance);
        if (!allowance.take(nowMs)) continue;
        due.push(member);
      }
      this.#waiting.delete(member);
    }
    return due;
  }
}
