/** `data` of a Secret as texts, and back, without those that are undefined. Pure. */

export function decodeSecret(data: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries((data ?? {}) as Record<string, string>);
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
}

export function encodeSecret(data: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]));
}
