/** Parses the text of a CNI configuration list. */
import { z } from 'zod';
import type { Conflist } from '../plan/conflist.ts';

const shape = z.looseObject({
  cniVersion: z.string(),
  cniVersions: z.array(z.string()).optional(),
  plugins: z.array(z.looseObject({ type: z.string() })).min(1),
});

/** Undefined if the text is not a configuration list. */
export function parseConflist(text: string): Conflist | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
