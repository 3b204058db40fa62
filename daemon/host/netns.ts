/**
 * Enters other network namespaces. Only this folder talks to the kernel; plain values, NetnsError and NetlinkError leave it.
 *
 * setns(2) changes the namespace of the calling thread, which is Node's main thread. So work inside must be synchronous, and if the way
 * back fails the process ends, because everything after that would configure the wrong namespace. Sockets that were opened inside belong
 * to that namespace for good and may be used asynchronously later.
 */
import { closeSync, constants, fstatSync, openSync, rmSync, statSync } from 'node:fs';
import { libc, systemError } from './libc.ts';

const CLONE_NEWNET = 0x40000000;

const MS_BIND = 4096;
const MNT_DETACH = 2;

const setns = libc.func('int setns(int fd, int nstype)') as (fd: number, nstype: number) => number;
const unshare = libc.func('int unshare(int flags)') as (flags: number) => number;
const mount = libc.func('int mount(str source, str target, str type, unsigned long flags, void *data)') as (
  source: string,
  target: string,
  type: string,
  flags: number,
  data: null,
) => number;
const umount = libc.func('int umount2(str target, int flags)') as (target: string, flags: number) => number;

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

/** Makes a namespace that exists as long as it is mounted at the path, where a file may be. @throws Error with syscall and code */
export function createNetns(path: string): void {
  closeSync(openSync(path, 'w'));
  const home = openSync('/proc/self/ns/net', 'r');
  try {
    if (unshare(CLONE_NEWNET) !== 0) throw systemError('unshare');
    try {
      if (mount('/proc/self/ns/net', path, 'none', MS_BIND, null) !== 0) throw systemError(`mount at ${path}`);
    } finally {
      if (setns(home, CLONE_NEWNET) !== 0) process.abort();
    }
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(home);
  }
}

/** Unmounts the namespace, which the kernel removes once nothing uses it; does nothing if there is none. @throws Error with syscall and code */
export function removeNetns(path: string): void {
  if (umount(path, MNT_DETACH) !== 0) {
    const error = systemError(`umount of ${path}`);
    // It is a plain file, or there is none.
    if (error.code !== 'EINVAL' && error.code !== 'ENOENT') throw error;
  }
  rmSync(path, { force: true });
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
