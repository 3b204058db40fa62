/**
 * What a database file is, by its first record. Rules: a file that is there and cannot be read is an error, never `none`: a copy that is taken for lost
 * would be replaced. The record is read again only after the file has changed, and while a server has it open it is not read at all.
 */
import { open } from 'node:fs/promises';
import type { DatabaseFile } from '../state/copy.ts';

export class UnreadableDatabase extends Error {
  override name = 'UnreadableDatabase';
  readonly code = 'UnreadableDatabase';
}

const longestLine = 128;

/** @throws UnreadableDatabase, or a system error other than that it is not there */
export async function readDatabaseFile(path: string): Promise<DatabaseFile> {
  let file;
  try {
    file = await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { model: 'none' };
    throw error;
  }
  try {
    const start = await file.read(Buffer.alloc(longestLine), 0, longestLine, 0);
    const line = start.buffer.toString('latin1', 0, start.bytesRead).split('\n')[0] ?? '';
    const match = /^OVSDB (JSON|CLUSTER) (\d+) [0-9a-f]{40}$/.exec(line);
    if (match === null) throw new UnreadableDatabase(`${path} begins with "${line.slice(0, 40)}": no OVSDB database`);
    if (match[1] === 'JSON') return { model: 'standalone' };
    const length = Number(match[2]);
    const record = await file.read(Buffer.alloc(length), 0, length, line.length + 1);
    return parseRecord(path, record.buffer.toString('latin1', 0, record.bytesRead));
  } finally {
    await file.close();
  }
}

/** A record with a snapshot has all rows in it, also between these members: they are found without parsing it. In a string the quotes would be escaped. */
export function parseRecord(path: string, text: string): DatabaseFile {
  const member = (name: string): string | undefined => new RegExp(`[{,]"${name}":"([^"\\\\]+)"`).exec(text)?.[1];
  const [sid, address] = [member('server_id'), member('local_address')];
  if (sid === undefined || address === undefined)
    throw new UnreadableDatabase(`${path} has no server_id or no local_address: it is no member of a cluster`);
  const cid = member('cluster_id');
  // Only a file that no cluster took in names servers to ask.
  return text.includes('"remote_addresses":[')
    ? { model: 'clustered', sid, address, cid: undefined, joins: cid }
    : { model: 'clustered', sid, address, cid };
}
