/** When a router's bgpd has a route, asked as often as it answers. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Vty } from '../system/bgp/vty.ts';

const defaultTimeoutMs = 15_000;

/**
 * Asks until a prefix has the next hop, or has it no more; then the time, by performance.now().
 * @param everyMs 0 asks again as soon as there is an answer
 */
export async function untilRoute(
  vty: Vty,
  prefix: string,
  nextHop: string,
  {
    isThere = true,
    everyMs = 1,
    timeoutMs = defaultTimeoutMs,
  }: { readonly isThere?: boolean; readonly everyMs?: number; readonly timeoutMs?: number } = {},
): Promise<number> {
  for (const end = performance.now() + timeoutMs; ;) {
    const text = await vty.command(`show bgp ${prefix.includes(':') ? 'ipv6' : 'ipv4'} unicast ${prefix} json`);
    if (text.includes(`"${nextHop}"`) === isThere) return performance.now();
    if (performance.now() > end) throw new Error(`waited ${timeoutMs / 1000} s for ${prefix} at the router: ${text}`);
    if (everyMs > 0) await pause(everyMs);
  }
}

/** How many prefixes of one family bgpd has of a neighbour; -1 where there is none. */
export async function prefixesOf(vty: Vty, neighbor: string): Promise<number> {
  const text = await vty.command('show bgp ipv4 unicast summary json');
  const answer = JSON.parse(text || '{}') as {
    readonly peers?: Readonly<Record<string, { readonly pfxRcd?: number }>>;
  };
  return answer.peers?.[neighbor]?.pfxRcd ?? -1;
}
