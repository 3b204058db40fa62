/**
 * Keeps the CNI configuration list in the runtime's folder, from the moment when the node is ready for the first time. The file is
 * restored after it was changed or deleted; a failure to write it becomes a problem. The file stays when the daemon ends: ADD then
 * answers "try again later", and DEL still works.
 */
import { mkdirSync, readFileSync, renameSync, watch, writeFileSync, type FSWatcher } from 'node:fs';
import { basename, join } from 'node:path';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Logger } from '../../lib/run/logger.ts';

export interface ConflistKeeperOptions {
  /** The file to copy; the copy has the same name. */
  readonly source: string;
  readonly folder: string;
  /** Called for each new problem; the next call of `keep` tries again. */
  readonly onProblem: (problem: Problem) => void;
  readonly log: Pick<Logger, 'info'>;
}

/** Replaces the file in one step, so that a reader sees either the old or the new one. */
export function writeAtomically(file: string, content: string): void {
  const next = `${file}.isthmus-new`;
  writeFileSync(next, content, { mode: 0o644 });
  renameSync(next, file);
}

export class ConflistKeeper {
  readonly #options: ConflistKeeperOptions;
  readonly #target: string;
  #watcher: FSWatcher | undefined;
  #reported: string | undefined;
  #isClosed = false;

  constructor(options: ConflistKeeperOptions) {
    this.#options = options;
    this.#target = join(options.folder, basename(options.source));
  }

  /** Starts to keep the file. Further calls retry what failed, and do nothing otherwise. */
  keep(): void {
    if (this.#isClosed || (this.#watcher !== undefined && this.#reported === undefined)) return;
    this.#restore();
  }

  close(): void {
    this.#isClosed = true;
    this.#watcher?.close();
  }

  #restore(): void {
    try {
      // If the file is gone, its folder may be gone as well, and the watch with it.
      if (this.#watcher === undefined || readIfThere(this.#target) === undefined) this.#watchFolder();
      const content = readFileSync(this.#options.source, 'utf8');
      if (readIfThere(this.#target) !== content) {
        writeAtomically(this.#target, content);
        this.#options.log.info({ file: this.#target }, 'the CNI configuration list is in place');
      }
      this.#reported = undefined;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#report(error);
    }
  }

  #watchFolder(): void {
    const { folder } = this.#options;
    mkdirSync(folder, { recursive: true });
    this.#watcher?.close();
    this.#watcher = watch(folder, () => this.#isClosed || this.#restore());
    this.#watcher.on('error', (error) => this.#report(error));
  }

  #report({ message: cause }: Error): void {
    const message = `the CNI configuration list ${this.#target} could not be written: ${cause}; the runtime of this node starts no pods until it exists`;
    if (message === this.#reported) return;
    this.#reported = message;
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
