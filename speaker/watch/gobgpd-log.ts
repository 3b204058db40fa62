/**
 * Reads NOTIFICATION messages from gobgpd's log, the only place where gobgpd reports them. gobgpd appends to the log file; it is read as it grows,
 * and truncated when it is too long, because gobgpd does not rotate it.
 */
import { closeSync, fstatSync, openSync, readSync, truncateSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { notificationName, notificationOfLogLine, notificationText } from 'gobgp-js';
import type { Notification, ObservedSession } from '../model/observed.ts';

export interface GobgpdLogOptions {
  /** Undefined if there is no log to read. */
  readonly file: string | undefined;
  readonly onChange: () => void;
}

const longest = 1024 * 1024;
const chunkBytes = 64 * 1024;

export class GobgpdLog {
  readonly #options: GobgpdLogOptions;
  readonly #last = new Map<string, Notification>();
  readonly #watcher: FSWatcher | undefined;
  #offset = 0;
  #rest = '';

  constructor(options: GobgpdLogOptions) {
    this.#options = options;
    const { file } = options;
    if (file === undefined) return;
    // The folder exists before the file does.
    this.#watcher = watch(dirname(file), (_event, name) => name === basename(file) && this.#read(file));
    this.#read(file);
  }

  /** The last notification of each neighbour, by address. */
  get last(): ReadonlyMap<string, Notification> {
    return this.#last;
  }

  /** Removes the notifications of established sessions, so that later ones are about their end, and those of neighbours without a session. */
  forget(sessions: ReadonlyMap<string, Pick<ObservedSession, 'state'>>): void {
    for (const address of this.#last.keys())
      if ((sessions.get(address)?.state ?? 'Established') === 'Established') this.#last.delete(address);
  }

  close(): void {
    this.#watcher?.close();
  }

  #read(file: string): void {
    let descriptor: number;
    try {
      descriptor = openSync(file, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    try {
      const { size } = fstatSync(descriptor);
      if (size < this.#offset) this.#offset = 0;
      this.#readFrom(descriptor);
      if (size <= longest) return;
      truncateSync(file);
      this.#offset = 0;
    } finally {
      closeSync(descriptor);
    }
  }

  #readFrom(descriptor: number): void {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    let isNew = false;
    for (;;) {
      const count = readSync(descriptor, buffer, 0, chunkBytes, this.#offset);
      if (count === 0) break;
      this.#offset += count;
      const lines = (this.#rest + buffer.toString('utf8', 0, count)).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) isNew = this.#take(line) || isNew;
    }
    if (isNew) this.#options.onChange();
  }

  #take(line: string): boolean {
    const found = notificationOfLogLine(line);
    if (!found) return false;
    const { notification, address } = found;
    // One of two connections is closed; the other becomes the session, or is refused for another reason.
    if (notificationName(notification) === 'CeaseConnectionCollision') return false;
    this.#last.set(address, {
      reason: notificationName(notification),
      message: notificationText(notification),
      isSent: notification.direction === 'sent',
    });
    return true;
  }
}
