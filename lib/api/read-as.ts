/** Reading values that others wrote by a schema. Pure. */
import { z } from 'zod';

/**
 * What `schema.safeParse` returns, whatever the value is. Checks of a length in zod compare the `length` of any object, and
 * throw where that is one that cannot become a number: `{ "length": { "toString": 0, "valueOf": 0 } }` in an annotation.
 */
export function readAs<S extends z.ZodType>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = 'an object in it has a length that is not a number';
    const flaw: z.ZodError = new z.ZodError([{ code: 'custom', path: [], message, input: value }]);
    return { success: false, error: flaw as z.ZodError<z.output<S>> };
  }
}
