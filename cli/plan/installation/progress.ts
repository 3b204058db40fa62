/** What to say while an installation comes up: only what became another since it was said. Pure. */
import type { Missing } from '../../model/installation.ts';

/** By object, what was said last. */
export type Said = ReadonlyMap<string, string>;

export function tellProgress(
  said: Said,
  missing: readonly Missing[],
): { readonly lines: readonly string[]; readonly said: Said } {
  const now = new Map(missing.filter(({ isPassing }) => !isPassing).map(({ object, why }) => [object, why]));
  const changed = [...now]
    .filter(([object, why]) => said.get(object) !== why)
    .map(([object, why]) => `${object}: ${why}`);
  // A pod that is not missing any more may as well be gone; its workload says which.
  const done = [...said.keys()]
    .filter((object) => !now.has(object) && !object.startsWith('Pod ') && !missing.some((one) => one.object === object))
    .map((object) => `${object}: ready`);
  return { lines: [...done, ...changed], said: now };
}
