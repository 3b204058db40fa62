/** Finds rules of kube-proxy on the node, whether it is running or has left its rules behind. */
import { existsSync } from 'node:fs';
import { ProgramError, run } from './program.ts';

/** The rules that were found; undefined if there are none. Rules of iptables-legacy are not found. */
export async function findKubeProxy(): Promise<string | undefined> {
  if (existsSync('/sys/class/net/kube-ipvs0')) return 'interface kube-ipvs0';
  let listing;
  try {
    listing = await run('nft', ['list', 'chains']);
  } catch (error) {
    // The result is only a hint; the table of Services reports errors of nft.
    if (error instanceof ProgramError) return undefined;
    throw error;
  }
  const table = /^table (ip6? kube-proxy) \{/m.exec(listing)?.[1];
  if (table !== undefined) return `nftables table ${table}`;
  return /^\tchain KUBE-SERVICES \{/m.test(listing) ? 'iptables chain KUBE-SERVICES' : undefined;
}
