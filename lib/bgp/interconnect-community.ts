import { createHash } from 'node:crypto';

/** A private AS and two letters, so that no operator has it by chance. */
const prefix = '4294967294:18755';

/** The large community on prefixes that a cluster has over the interconnect: of which cluster they are. */
export function interconnectCommunity(cluster: string): string {
  return `${prefix}:${createHash('sha256').update(cluster).digest().readUInt32BE(0)}`;
}

/** Whether some cluster announced a prefix that it has over the interconnect. */
export function isInterconnectCommunity(community: string): boolean {
  return community.startsWith(`${prefix}:`);
}
