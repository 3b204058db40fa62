/** Finds rules of a kube-proxy on the node: a running one, or one that left them behind. */
import { existsSync } from 'node:fs';
import { ProgramError, run } from './program.ts';

/** What was found; undefined if there is nothing. Rules of iptables-legacy are not seen. */
export async function findKubeProxy(): Promise<string | undefined> {
  if (existsSync('/sys/class/net/kube-ipvs0')) return 'interface kube-ipvs0';
  let listing;
  try {
    listing = await run('nft', ['list', 'chains']);
  } catch (error) {
    // It is only a hint, and the table of Services reports what nft refuses.
    if (error instanceof ProgramError) return undefined;
    throw error;
  }
  const table = /^table (ip6? kube-proxy) \{/m.exec(listing)?.[1];
  if (table !== undefined) return `nftables table ${table}`;
  return /^\tchain KUBE-SERVICES \{/m.test(listing) ? 'iptables chain KUBE-SERVICES' : undefined;
}
