/** FNV-1a of 64 bits, its first 12 hexadecimal digits: for names that must not repeat by chance. Pure. */
export function hash48(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0').slice(0, 12);
}
