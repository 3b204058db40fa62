import type { RawObject } from '../../lib/kube/types.ts';

/** The texts of a Secret by key. */
export function parseSecret(raw: RawObject): ReadonlyMap<string, string> {
  const data = (raw['data'] ?? {}) as Readonly<Record<string, string>>;
  return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}
