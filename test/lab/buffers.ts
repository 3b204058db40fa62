/**
 * Receive buffer size of new sockets. In userspace, Open vSwitch reads all packets of a
 * node from sockets, with the thread that also handles OpenFlow changes. With the kernel's default of 208 KiB, some fifty
 * milliseconds of five thousand packets a second fill a buffer, and further packets are lost. A kernel datapath has no such loss.
 * The setting applies to the whole machine: the first lab raises it, the last one restores it.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const setting = '/proc/sys/net/core/rmem_default';
/** File with the value before the first lab; a reboot removes it and the labs' value. */
const former = '/run/isthmus-lab.rmem_default';
const wantedBytes = 4 * 1024 * 1024;

/** Must run before the sockets are created. @throws Error if the setting cannot be written. */
export function raiseBuffers(): void {
  const found = readFileSync(setting, 'utf8').trim();
  if (Number(found) >= wantedBytes) return;
  writeFileSync(former, `${found}\n`);
  writeFileSync(setting, String(wantedBytes));
}

/** Does nothing while another lab exists. */
export function restoreBuffers(): void {
  if (!existsSync(former)) return;
  if (existsSync('/run/netns') && readdirSync('/run/netns').some((name) => name.endsWith('-net'))) return;
  writeFileSync(setting, readFileSync(former, 'utf8').trim());
  rmSync(former);
}
