import { createHash } from 'node:crypto';

/** Pods of a policy ask for the same few names again and again. */
const known = new Map<string, string>();
const mostKnown = 50_000;

/** A short text that only equal parts have, of letters and digits, for names that match expressions contain. */
export function digestName(...parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  let name = known.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('hex').slice(0, 20);
    if (known.size >= mostKnown) known.clear();
    known.set(text, name);
  }
  return name;
}
