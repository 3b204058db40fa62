/** Calls of the C library, with errno as an Error. */
import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';

export const libc = koffi.load('libc.so.6');

const socket = libc.func('int socket(int domain, int type, int protocol)') as (...args: number[]) => number;
export const close = libc.func('int close(int fd)') as (fd: number) => number;

const mallocTrim = libc.func('int malloc_trim(size_t pad)') as (pad: number) => number;

/** Returns freed memory to the kernel; takes a quarter of a millisecond if there is none. */
export function trimMemory(): void {
  mallocTrim(0);
}

/** The error of the last C call; nothing else may run in between. */
export function systemError(syscall: string): Error & { readonly code: string } {
  const code = getSystemErrorName(-koffi.errno());
  return Object.assign(new Error(`${syscall}: ${code}`), { code, syscall });
}

/** Opens a socket; the caller must `close` it. @throws Error with syscall and code */
export function openDescriptor(domain: number, type: number, protocol: number): number {
  const fd = socket(domain, type, protocol);
  if (fd < 0) throw systemError('socket');
  return fd;
}
