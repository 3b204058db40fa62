/**
 * A file beside the switch's database, by which its pods know when they end that the node was given back: then they take bridges, datapath and
 * database with them (`images/ovn/run-ovn`).
 */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Settings } from '../settings.ts';

const markName = 'isthmus-left';

export function setLeftMark(settings: Pick<Settings, 'ovs'>): void {
  const file = markFile(settings);
  if (file !== undefined) writeFileSync(file, '');
}

export function removeLeftMark(settings: Pick<Settings, 'ovs'>): void {
  const file = markFile(settings);
  if (file !== undefined) rmSync(file, { force: true });
}

/** Undefined for a database elsewhere: its switch is not of this chart. */
function markFile({ ovs }: Pick<Settings, 'ovs'>): string | undefined {
  const socket = /^unix:(.*)$/.exec(ovs)?.[1];
  return socket === undefined ? undefined : join(dirname(socket), markName);
}
