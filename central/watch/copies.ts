/**
 * Reads the databases of this node: the files, and the servers through their control sockets. Out: a Copy of each; a server that does not answer
 * counts as absent.
 */
import type { Stats } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { callProgram } from '../../lib/ovn/unixctl.ts';
import type { Backups, Copy, DatabaseFile } from '../model/copy.ts';
import { both, databaseNames, schemaNames, type Both, type DatabaseName } from '../model/databases.ts';
import { parseClusterStatus } from './cluster-status.ts';
import { readDatabaseFile } from './database-file.ts';

const answerMs = 1500;
const roomBytes = 16 << 20;

export interface Folders {
  readonly dataDir: string;
  readonly runDir: string;
}

export class Copies {
  readonly #folders: Folders;
  /** For each database, the parsed file and the mark that it had then. */
  readonly #known = new Map<DatabaseName, { readonly mark: string; readonly file: DatabaseFile }>();

  constructor(folders: Folders) {
    this.#folders = folders;
  }

  /** @throws UnreadableDatabase, or a system error of the folder */
  async look(): Promise<Both<Copy>> {
    const [nb, sb] = await Promise.all(databaseNames.map((name) => this.#copy(name)));
    return both((name) => (name === 'nb' ? nb : sb) as Copy);
  }

  /** Whether the disk has hardly any space for changes, or too little to compact a file. */
  async isFull(): Promise<boolean> {
    const { dataDir } = this.#folders;
    const sizes = databaseNames.map(async (name) => await stat(join(dataDir, `${name}.db`)).then(sizeOf, () => 0));
    const [{ bavail, bsize }, ...taken] = await Promise.all([statfs(dataDir), ...sizes]);
    return bavail * bsize < Math.max(roomBytes, ...taken);
  }

  async backups(): Promise<Backups> {
    const names = await readdir(join(this.#folders.dataDir, 'backup')).catch(() => []);
    const timesOf = (name: DatabaseName): string[] =>
      names
        .map((file) => new RegExp(`^${name}-(\\d{8}T\\d{6}Z)\\.db$`).exec(file)?.[1])
        .filter((time) => time !== undefined)
        .sort();
    return both(timesOf);
  }

  async #copy(name: DatabaseName): Promise<Copy> {
    const { server, isGivenUp } = await this.#server(name);
    const path = join(this.#folders.dataDir, `${name}.db`);
    const mark = await markOf(path);
    // While a server runs, its status describes the file; a file that was removed while the server has it open counts as absent.
    if (server !== undefined && mark !== undefined) {
      const { sid, cid, address, isJoining } = server;
      return {
        file: {
          model: 'clustered',
          sid,
          address,
          cid: isJoining ? undefined : cid,
          ...(isJoining ? { joins: cid } : {}),
        },
        server,
        isGivenUp,
      };
    }
    const known = this.#known.get(name);
    if (known !== undefined && known.mark === mark) return { file: known.file, server, isGivenUp };
    const file = await readDatabaseFile(path);
    if (mark !== undefined) this.#known.set(name, { mark, file });
    return { file, server, isGivenUp };
  }

  async #server(name: DatabaseName): Promise<Pick<Copy, 'server' | 'isGivenUp'>> {
    const socket = join(this.#folders.runDir, `${name}.ctl`);
    try {
      const text = await callProgram(socket, 'cluster/status', [schemaNames[name]], answerMs);
      return { server: parseClusterStatus(text), isGivenUp: /^Status: failed$/m.test(text) };
    } catch (error) {
      // The server's error for a database that it does not have open.
      return { server: undefined, isGivenUp: (error as Error).message.endsWith('unknown cluster') };
    }
  }
}

function sizeOf({ size }: Stats): number {
  return size;
}

/** Undefined if there is no file. */
async function markOf(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
