/**
 * Rejections for one member. In: every rejection. Out: a list that stays short however many there are, and the total.
 * It has an entry for each holder, so that the hub can settle the member again once a holder releases something.
 */
import type { Rejection } from '../../model/messages.ts';
import { moreRefused } from '../../model/refused.ts';
import { legible } from './legible.ts';

/** Entries of one kind; besides these, the first for each code and holder is listed. */
const mostListed = 100;
const longestMessage = 1024;

type Kind = Rejection['kind'];

export class Refusals {
  readonly #listed: Rejection[] = [];
  readonly #reasons = new Set<string>();
  readonly #counts = new Map<Kind, number>();
  readonly #unlisted = new Map<Kind, number>();

  /** Returns false if it is only counted. */
  add(rejection: Rejection): boolean {
    const { kind, code, holder } = rejection;
    const count = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, count + 1);
    const reason = `${kind}/${code}/${holder}`;
    if (count >= mostListed && this.#reasons.has(reason)) {
      this.#unlisted.set(kind, (this.#unlisted.get(kind) ?? 0) + 1);
      return false;
    }
    this.#reasons.add(reason);
    const { value, message, transitSwitch } = rejection;
    this.#listed.push({
      ...rejection,
      value: legible(value),
      message: legible(message, longestMessage),
      transitSwitch: legible(transitSwitch),
    });
    return true;
  }

  /** The total, including rejections that are not listed. */
  get count(): number {
    return this.#counts.values().reduce((sum, count) => sum + count, 0);
  }

  list(): readonly Rejection[] {
    return [...this.#listed, ...Array.from(this.#unlisted, ([kind, count]) => more(kind, count))];
  }
}

function more(kind: Kind, count: number): Rejection {
  const message = `${count} more of kind ${kind} were refused, which are not listed; correct those that are listed first`;
  return { kind, value: String(count), code: moreRefused, message, holder: '', transitSwitch: '' };
}
