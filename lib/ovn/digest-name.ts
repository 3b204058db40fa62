import { createHash } from 'node:crypto';

/** A short text that only equal parts have, of letters and digits, for names that match expressions contain. */
export function digestName(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 20);
}
