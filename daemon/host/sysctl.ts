/** Kernel settings below /proc/sys of the current network namespace. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** IPv6 forwarding on all links; for IPv4 there is `net/ipv4/ip_forward`. */
export const forwarding6 = 'net/ipv6/conf/all/forwarding';

export function getSysctl(path: string): string {
  return readFileSync(`/proc/sys/${path}`, 'utf8').trim();
}

/** Writes the value if it differs. Synchronous, so that it can be used inside another namespace. */
export function setSysctl(path: string, value: string): void {
  if (getSysctl(path) !== value) writeFileSync(`/proc/sys/${path}`, value);
}

/**
 * Accepts packets on an interface even if the kernel would answer their senders over another one. Of the setting of the interface and
 * that for all, the higher number counts, and 2 (loose) is higher than 1 (strict; ip-sysctl.rst, rp_filter).
 */
export function loosenReversePath(name: string): void {
  const of = (place: string): number => Number(getSysctl(`net/ipv4/conf/${place}/rp_filter`));
  if (Math.max(of('all'), of(name)) === 1) setSysctl(`net/ipv4/conf/${name}/rp_filter`, '2');
}

/** Whether the kernel was built and booted with IPv6. */
export function hasIpv6(): boolean {
  return existsSync('/proc/sys/net/ipv6');
}
