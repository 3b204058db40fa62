/** Progress messages during an installation: the changes since the messages that were printed. Pure. */
import type { Missing } from '../../model/installation.ts';

/** The last printed message by object. */
export type Printed = ReadonlyMap<string, string>;

export function progressSince(
  printed: Printed,
  missing: readonly Missing[],
): { readonly lines: readonly string[]; readonly printed: Printed } {
  const now = new Map(missing.filter(({ isPassing }) => !isPassing).map(({ object, why }) => [object, why]));
  const changed = [...now]
    .filter(([object, why]) => printed.get(object) !== why)
    .map(([object, why]) => `${object}: ${why}`);
  // A pod that is no longer missing may also have been deleted; its workload shows which.
  const done = [...printed.keys()]
    .filter((object) => !now.has(object) && !object.startsWith('Pod ') && !missing.some((one) => one.object === object))
    .map((object) => `${object}: ready`);
  return { lines: [...done, ...changed], printed: now };
}
