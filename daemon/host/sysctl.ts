/** Kernel settings below /proc/sys, of the network namespace this runs in. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Writes where the value differs. Synchronous, so that it can be used inside another namespace. */
export function setSysctl(path: string, value: string): void {
  const file = `/proc/sys/${path}`;
  if (readFileSync(file, 'utf8').trim() !== value) writeFileSync(file, value);
}

/**
 * Lets answers in on an interface whose senders the kernel would answer by another one, where it is to drop them: the
 * stricter of two settings counts, but a loose one of the interface counts more (ip-sysctl.rst, rp_filter).
 */
export function loosenReversePath(name: string): void {
  const of = (place: string): number => Number(readFileSync(`/proc/sys/net/ipv4/conf/${place}/rp_filter`, 'utf8'));
  if (Math.max(of('all'), of(name)) === 1) setSysctl(`net/ipv4/conf/${name}/rp_filter`, '2');
}

/** Whether the kernel was built and booted with IPv6. */
export function hasIpv6(): boolean {
  return existsSync('/proc/sys/net/ipv6');
}
