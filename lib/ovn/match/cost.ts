import type { Constants, Field } from './compare.ts';
import { at } from './place.ts';
import type { Token } from './token.ts';

/**
 * OVN turns `field != constant` into one alternative for each bit that it tests, and multiplies these alternatives
 * for all such constants of one field that hold together. Measured on OVN 23.03, one ACL on one port:
 * 4 addresses (2^20) 187,000 flows and 0.8 GB in ovn-controller, 6 ports (2^24) 663,000 flows and 2.8 GB, 5 addresses
 * (2^25) not done after 25 s. Beyond this limit a match ends ovn-controller on every node that has the switch.
 */
const maxAlternatives = 2 ** 22;

/** The problem of a match in which one field differs from too many constants. */
export function tooManyAlternatives(field: string, token: Token): string {
  return `${field} ${at(token.start)} differs from so many constants that OVN would need millions of flows and all memory of the nodes: match them with "==" in a rule of higher priority before this one`;
}

/** Predicates whose negation exceeds the limit alone: they stand for several 128-bit addresses. */
const ruinous: ReadonlySet<string> = new Set(['ip6.mcast_all_rtrs', 'ip6.mcast_flood']);

function onesOf(mask: bigint): number {
  let ones = 0;
  for (let rest = mask; rest !== 0n; rest &= rest - 1n) ones += 1;
  return ones;
}

/**
 * Alternatives of a comparison that shall hold; `isPositive` where it is an equality once every `!` is applied.
 * A field without a relation is compared with 0.
 */
export function alternativesOf({ symbol, bits }: Field, constants: Constants | undefined, isPositive: boolean): number {
  const numbers = constants?.tokens.flatMap((token) => (token.kind === 'number' ? [token.constant] : [])) ?? [
    { value: 0n },
  ];
  if (ruinous.has(symbol.name))
    return numbers.some(({ value }) => (value & 1n) === (isPositive ? 0n : 1n)) ? Infinity : 1;
  if (isPositive) return 1;
  const tested = numbers.map((constant) => ('mask' in constant ? onesOf(constant.mask) : bits));
  return tested.reduce((product, ones) => product * Math.max(ones, 1), 1);
}

/** Alternatives per field of the conditions that hold together. */
export class Alternatives {
  readonly #byField = new Map<string, number>();

  /** False if the field now has more than OVN can hold. */
  multiply(field: string, factor: number): boolean {
    const product = (this.#byField.get(field) ?? 1) * factor;
    this.#byField.set(field, product);
    return product <= maxAlternatives;
  }

  /** The first field that has too many once those of a part are counted too. */
  include(part: Alternatives): string | undefined {
    for (const [field, factor] of part.#byField) if (!this.multiply(field, factor)) return field;
    return undefined;
  }
}
