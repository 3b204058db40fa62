/** Six octets in canonical form (`0a:58:0a:10:00:02`); undefined if the text is not a unicast MAC address. */
export function parseMac(text: string): string | undefined {
  if (!/^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$/.test(text)) return undefined;
  const mac = text.toLowerCase();
  const isMulticast = (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1;
  return isMulticast || mac === '00:00:00:00:00:00' ? undefined : mac;
}

/** 32 bits of a well mixed hash (FNV-1a with the finaliser of murmur3), `salt` making independent ones. */
function hash32(text: string, salt: number): number {
  let hash = (2166136261 ^ salt) | 0;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * A locally administered unicast address that only depends on its arguments, so that a restart finds the
 * same. `space` is the first octet and keeps users of different spaces apart.
 */
export function deriveMac(space: number, seed: string): string {
  const high = hash32(seed, 0x9e3779b9);
  const low = hash32(seed, 0x7f4a7c15);
  const octets = [(space & 0xfc) | 2, high >>> 24, (high >>> 16) & 255, (high >>> 8) & 255, low >>> 24, low & 255];
  return octets.map((octet) => octet.toString(16).padStart(2, '0')).join(':');
}
