import { createHash } from 'node:crypto';

/** Characters of a digest that names have: of a hundred thousand names, two are equal with a probability of one in a billion. */
const length = 16;

/** The name of a variable of OVN for the given parts. Expressions can have it behind `^`. */
export function variableName(prefix: string, ...parts: readonly string[]): string {
  return `${prefix}_${createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, length)}`;
}
