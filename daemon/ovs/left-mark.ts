/**
 * Files beside the switch's database, and beside OVN's databases where this node has them, by which their pods know when they end that the node was
 * given back: then they take with them what only a node of Isthmus has (`images/ovn/run-switch`, `central/apply/departure.ts`).
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { leftMark } from '../../lib/api/names.ts';
import type { Settings } from '../settings.ts';

type Folders = Pick<Settings, 'ovs' | 'centralRundir'>;

export function setLeftMark(settings: Folders): void {
  for (const file of markFiles(settings)) writeFileSync(file, '');
}

export function removeLeftMark(settings: Folders): void {
  for (const file of markFiles(settings)) rmSync(file, { force: true });
}

/** None for a switch's database elsewhere, which is not of this chart, and for a node that has none of OVN's. */
function markFiles({ ovs, centralRundir }: Folders): readonly string[] {
  const socket = /^unix:(.*)$/.exec(ovs)?.[1];
  const folders = [
    ...(socket === undefined ? [] : [dirname(socket)]),
    ...(centralRundir !== undefined && existsSync(centralRundir) ? [centralRundir] : []),
  ];
  return folders.map((folder) => join(folder, leftMark));
}
