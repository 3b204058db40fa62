/** Kernel settings below /proc/sys, of the network namespace this runs in. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Writes where the value differs. Synchronous, so that it can be used inside another namespace. */
export function setSysctl(path: string, value: string): void {
  const file = `/proc/sys/${path}`;
  if (readFileSync(file, 'utf8').trim() !== value) writeFileSync(file, value);
}

/** Whether the kernel was built and booted with IPv6. */
export function hasIpv6(): boolean {
  return existsSync('/proc/sys/net/ipv6');
}
