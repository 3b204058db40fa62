/**
 * What a new socket may hold of packets that its owner has not read yet. In userspace Open vSwitch reads all packets of a
 * node from sockets, with the thread that also takes OpenFlow changes: with the kernel's usual 208 KiB some fifty
 * milliseconds of five thousand packets a second fill it, and what comes then is lost, which no datapath in the kernel does.
 * The kernel knows one value for the whole machine: the first lab raises it, the last one puts it back.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const setting = '/proc/sys/net/core/rmem_default';
/** The value before the first lab; gone with a reboot, as the one that labs set. */
const former = '/run/isthmus-lab.rmem_default';
const wantedBytes = 4 * 1024 * 1024;

/** Before the sockets are made. @throws Error if the setting cannot be written. */
export function raiseBuffers(): void {
  const found = readFileSync(setting, 'utf8').trim();
  if (Number(found) >= wantedBytes) return;
  writeFileSync(former, `${found}\n`);
  writeFileSync(setting, String(wantedBytes));
}

/** Nothing happens while another lab is there. */
export function restoreBuffers(): void {
  if (!existsSync(former)) return;
  if (existsSync('/run/netns') && readdirSync('/run/netns').some((name) => name.endsWith('-net'))) return;
  writeFileSync(setting, readFileSync(former, 'utf8').trim());
  rmSync(former);
}
