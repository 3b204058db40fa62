/** Texts and labels that many objects have, such as those of a Deployment's pods: of ten thousand copies one is kept. */

/** Where more are different, copies come back: a bound of memory, not a limit. */
const capacity = 4096;
const texts = new Map<string, string>();
const records = new Map<string, Readonly<Record<string, string>>>();

function once<T>(known: Map<string, T>, key: string, value: T): T {
  const there = known.get(key);
  if (there !== undefined) return there;
  if (known.size >= capacity) known.clear();
  known.set(key, value);
  return value;
}

/** The one copy of a text that comes again and again. */
export function shared(text: string): string {
  return once(texts, text, text);
}

const values = new Map<string, unknown>();

/** The one copy of a value that many objects have. */
export function sharedValue<T>(value: T): T {
  return once(values, JSON.stringify(value), value) as T;
}

/** The one copy of labels that many objects have. */
export function sharedRecord(record: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  return once(records, JSON.stringify(record ?? {}), record ?? {});
}
