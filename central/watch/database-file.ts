/**
 * Reads the kind of a database file from its first record, and the end of its log from its last records. Rules: a file that exists and cannot be read
 * is an error, never `none`, because a copy that counts as lost would be replaced. A file is read again only after it has changed, and not while a
 * server has it open.
 */
import { open, type FileHandle } from 'node:fs/promises';
import type { DatabaseFile, LogEnd } from '../model/copy.ts';

export class UnreadableDatabase extends Error {
  override name = 'UnreadableDatabase';
  readonly code = 'UnreadableDatabase';
}

const longestLine = 128;
const tailBytes = 64 << 10;

/** @throws UnreadableDatabase, or a system error other than a missing file */
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
    const text = record.buffer.toString('latin1', 0, record.bytesRead);
    return parseRecord(path, text, await readLogEnd(file));
  } finally {
    await file.close();
  }
}

/**
 * An incomplete record, such as after a power failure, is ignored; the server does not read it either. @returns undefined if no entry follows the
 * first record
 */
async function readLogEnd(file: FileHandle): Promise<LogEnd | undefined> {
  const { size } = await file.stat();
  for (let bytes = Math.min(tailBytes, size); ; bytes = Math.min(bytes * 4, size)) {
    const tail = await file.read(Buffer.alloc(bytes), 0, bytes, size - bytes);
    const lines = tail.buffer.toString('latin1', 0, tail.bytesRead).split('\n');
    const end = parseLogEnd(bytes < size ? lines.slice(1) : lines);
    if (end !== undefined || bytes === size) return end;
  }
}

/** @param lines lines at the end of a file; only the records of entries have an index */
function parseLogEnd(lines: readonly string[]): LogEnd | undefined {
  for (const line of lines.toReversed()) {
    if (!line.includes('"index":')) continue;
    try {
      const { term, index } = JSON.parse(line) as Partial<LogEnd>;
      if (term !== undefined && index !== undefined) return { term, index };
    } catch {
      // The record is incomplete.
    }
  }
  return undefined;
}

/**
 * A record with a snapshot contains all rows, also between these members: they are found without parsing it. Within a string the quotes would be
 * escaped.
 */
function parseRecord(path: string, text: string, logEnd: LogEnd | undefined): DatabaseFile {
  const member = (name: string): string | undefined => new RegExp(`[{,]"${name}":"([^"\\\\]+)"`).exec(text)?.[1];
  const [sid, address] = [member('server_id'), member('local_address')];
  if (sid === undefined || address === undefined)
    throw new UnreadableDatabase(`${path} has no server_id or no local_address: it is not a member of a cluster`);
  const cid = member('cluster_id');
  // Only a file that no cluster has accepted yet lists remote servers.
  if (text.includes('"remote_addresses":[')) return { model: 'clustered', sid, address, cid: undefined, joins: cid };
  const number = (name: string): number => Number(new RegExp(`[{,]"${name}":(\\d+)`).exec(text)?.[1] ?? 0);
  const end = logEnd ?? { term: number('prev_term'), index: number('prev_index') };
  return { model: 'clustered', sid, address, cid, end };
}
