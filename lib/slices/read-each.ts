import type { z } from 'zod';
import { readAs } from '../api/read-as.ts';

/** Entries that cannot be read are passed over one by one: the rest is none the worse for them. */
export function readEach<T>(values: readonly unknown[] | undefined, schema: z.ZodType<T>): readonly T[] {
  return (values ?? []).flatMap((value) => {
    const { data } = readAs(schema, value);
    return data === undefined ? [] : [data];
  });
}
