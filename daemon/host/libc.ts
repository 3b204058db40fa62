/** The C library, and its errno as an Error. */
import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';

export const libc = koffi.load('libc.so.6');

/** The error of the C call just made; nothing may run in between. */
export function systemError(syscall: string): Error & { readonly code: string } {
  const code = getSystemErrorName(-koffi.errno());
  return Object.assign(new Error(`${syscall}: ${code}`), { code, syscall });
}
