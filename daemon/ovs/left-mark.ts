/**
 * Marks that the node was released: files beside the switch's database, and beside OVN's databases if this node has them. When the pods
 * of these databases end and find the mark, they remove what only a node of Isthmus has (`images/ovn/run-switch`,
 * `central/apply/departure.ts`).
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { leftMark } from '../../lib/api/names.ts';

interface Folders {
  /** Address of the switch's database. */
  readonly ovs: string;
  /** Folder of OVN's databases. */
  readonly centralRundir: string | undefined;
}

export function setLeftMark(settings: Folders): void {
  for (const file of markFiles(settings)) writeFileSync(file, '');
}

export function removeLeftMark(settings: Folders): void {
  for (const file of markFiles(settings)) rmSync(file, { force: true });
}

/** There is no mark for a remote database of the switch, which this chart does not run, and none on nodes without OVN's databases. */
function markFiles({ ovs, centralRundir }: Folders): readonly string[] {
  const socket = /^unix:(.*)$/.exec(ovs)?.[1];
  const folders = [
    ...(socket === undefined ? [] : [dirname(socket)]),
    ...(centralRundir !== undefined && existsSync(centralRundir) ? [centralRundir] : []),
  ];
  return folders.map((folder) => join(folder, leftMark));
}
