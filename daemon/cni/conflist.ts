/**
 * Keeps the CNI configuration list in the runtime's folder. In: its source, a call when the node is ready for the first
 * time. Out: the file, put back when somebody changes or deletes it, and problems where it cannot be written. It stays when
 * the daemon ends: pods are then told to try again later, and taken away as ever.
 */
import { mkdirSync, readFileSync, renameSync, watch, writeFileSync, type FSWatcher } from 'node:fs';
import { basename, join } from 'node:path';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Logger } from '../../lib/run/logger.ts';

export interface ConflistKeeperOptions {
  /** File to copy; its name is the file's name in the folder. */
  readonly source: string;
  readonly folder: string;
  /** Called when a problem is new; the next call of `keep` tries again. */
  readonly onProblem: (problem: Problem) => void;
  readonly log: Pick<Logger, 'info'>;
}

/** A new file takes the place of the old one in one step: whoever reads sees one or the other. */
export function writeWhole(file: string, content: string): void {
  const next = `${file}.isthmus-new`;
  writeFileSync(next, content, { mode: 0o644 });
  renameSync(next, file);
}

export class ConflistKeeper {
  readonly #options: ConflistKeeperOptions;
  readonly #target: string;
  #watcher: FSWatcher | undefined;
  #told: string | undefined;
  #isClosed = false;

  constructor(options: ConflistKeeperOptions) {
    this.#options = options;
    this.#target = join(options.folder, basename(options.source));
  }

  /** From now on the file is kept. Again, it tries what failed before; otherwise it does nothing. */
  keep(): void {
    if (this.#isClosed || (this.#watcher !== undefined && this.#told === undefined)) return;
    this.#restore();
  }

  close(): void {
    this.#isClosed = true;
    this.#watcher?.close();
  }

  #restore(): void {
    try {
      // Where the file has gone, its folder may have gone with it, and the watch with that.
      if (this.#watcher === undefined || readIfThere(this.#target) === undefined) this.#watchFolder();
      const content = readFileSync(this.#options.source, 'utf8');
      if (readIfThere(this.#target) !== content) {
        writeWhole(this.#target, content);
        this.#options.log.info({ file: this.#target }, 'the CNI configuration list is in place');
      }
      this.#told = undefined;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#tell(error);
    }
  }

  #watchFolder(): void {
    const { folder } = this.#options;
    mkdirSync(folder, { recursive: true });
    this.#watcher?.close();
    this.#watcher = watch(folder, () => this.#isClosed || this.#restore());
    this.#watcher.on('error', (error) => this.#tell(error));
  }

  #tell({ message: cause }: Error): void {
    const message = `the CNI configuration list ${this.#target} could not be written: ${cause}; the runtime of this node starts no pods until it is there`;
    if (message === this.#told) return;
    this.#told = message;
    this.#options.onProblem({ code: 'ConflistNotWritten', message });
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw error;
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
