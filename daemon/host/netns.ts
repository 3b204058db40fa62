/**
 * Enters other network namespaces. Only this folder talks to the kernel; plain values, NetnsError and NetlinkError leave it.
 *
 * setns(2) changes the namespace of the calling thread, which is Node's main thread. So work inside must be synchronous, and if the way
 * back fails the process ends, because everything after that would configure the wrong namespace. Sockets that were opened inside belong
 * to that namespace for good and may be used asynchronously later.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';
import { libc, systemError } from './libc.ts';

const CLONE_NEWNET = 0x40000000;

const setns = libc.func('int setns(int fd, int nstype)') as (fd: number, nstype: number) => number;

/** `missing`: there is no such path; `foreign`: it is not a network namespace; `own`: it is that of this process. */
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

/** Holds the namespace open, so that another namespace with the same path later cannot be mistaken for it. @throws NetnsError */
export function openNetns(path: string): Netns {
  const fd = openNamespaceFile(path);
  try {
    const [theirs, ours] = [fstatSync(fd, { bigint: true }), statSync('/proc/self/ns/net', { bigint: true })];
    if (theirs.dev === ours.dev && theirs.ino === ours.ino)
      throw new NetnsError('own', `${path} is the network namespace of the node itself`);
    // Only a namespace can be entered; any other file fails here.
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

/** Whether the path leads to the network namespace of this process. */
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
    // Without O_NONBLOCK, opening a pipe without a writer would block this process.
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
