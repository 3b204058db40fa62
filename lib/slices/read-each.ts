import type { z } from 'zod';

/** Entries that cannot be read are passed over one by one: the rest is none the worse for them. */
export function readEach<T>(values: readonly unknown[] | undefined, schema: z.ZodType<T>): readonly T[] {
  return (values ?? []).flatMap((value) => {
    const { data } = schema.safeParse(value);
    return data === undefined ? [] : [data];
  });
}
