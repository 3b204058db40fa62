import { decodeSecret } from '../../lib/kube/secret-data.ts';
import type { RawObject } from '../../lib/kube/types.ts';

/** The values of a Secret as text, by key. */
export function parseSecret(raw: RawObject): ReadonlyMap<string, string> {
  return new Map(Object.entries(decodeSecret(raw['data'])));
}
