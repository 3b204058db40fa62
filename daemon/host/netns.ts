/**
 * Entering other network namespaces. This folder is the only one that talks to the kernel; what leaves it are
 * plain values and NetnsError/NetlinkError.
 *
 * setns(2) acts on the calling thread, which is Node's main thread: work inside must be synchronous, and a failing
 * way back ends the process, because everything after it would configure the wrong namespace. Sockets opened
 * inside belong to the namespace for good and may be used asynchronously later.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';
import { libc, systemError } from './libc.ts';

const CLONE_NEWNET = 0x40000000;

const setns = libc.func('int setns(int fd, int nstype)') as (fd: number, nstype: number) => number;

/** `missing`: the path is not there; `foreign`: it is no network namespace; `own`: it is this process's. */
export class NetnsError extends Error {
  readonly code: 'missing' | 'foreign' | 'own';

  constructor(code: NetnsError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface Netns {
  readonly path: string;
  /** Valid until `close`. */
  readonly fd: number;
  /** Runs synchronous `work` inside. */
  run<T>(work: () => T): T;
  close(): void;
}

/** Opens the namespace once, so that a path that is reused later cannot be mistaken for it. @throws NetnsError */
export function openNetns(path: string): Netns {
  const fd = openNamespaceFile(path);
  try {
    const [theirs, ours] = [fstatSync(fd, { bigint: true }), statSync('/proc/self/ns/net', { bigint: true })];
    if (theirs.dev === ours.dev && theirs.ino === ours.ino)
      throw new NetnsError('own', `${path} is the network namespace of the node itself`);
    // Entering and leaving at once tells a namespace from any other file.
    inside(fd, path, () => undefined);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { path, fd, run: (work) => inside(fd, path, work), close: () => closeSync(fd) };
}

/** Whether the path still leads to a network namespace. */
export function hasNetns(path: string): boolean {
  try {
    openNetns(path).close();
    return true;
  } catch (error) {
    if (error instanceof NetnsError) return error.code === 'own';
    throw error;
  }
}

/** Whether the path leads to this process's own network namespace. */
export function isOwnNetns(path: string): boolean {
  try {
    openNetns(path).close();
    return false;
  } catch (error) {
    if (error instanceof NetnsError) return error.code === 'own';
    throw error;
  }
}

function openNamespaceFile(path: string): number {
  try {
    // A pipe that nobody writes to must not hold this process up.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const code = isErrno(error, 'ENOENT', 'ENOTDIR', 'ESRCH', 'EACCES') ? 'missing' : 'foreign';
    throw new NetnsError(code, `network namespace ${path} cannot be opened: ${error.message}`, { cause: error });
  }
}

function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

function inside<T>(fd: number, path: string, work: () => T): T {
  const home = openSync('/proc/self/ns/net', 'r');
  try {
    if (setns(fd, CLONE_NEWNET) !== 0)
      throw new NetnsError('foreign', `${path} is not a network namespace`, { cause: systemError('setns') });
    try {
      return work();
    } finally {
      if (setns(home, CLONE_NEWNET) !== 0) process.abort();
    }
  } finally {
    closeSync(home);
  }
}
