/** Refusals of the kernel, Open vSwitch or a program become a problem of the object concerned; other errors are defects. */
import type { Problem } from '../../lib/desired/problem.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { ProgramError } from './program.ts';

export class Refusal extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function isRefusal(error: unknown): error is Error & { readonly code: string } {
  if (error instanceof Refusal || error instanceof NetlinkError || error instanceof ProgramError) return true;
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

/** The problem that a user sees. */
export function refusalProblem(error: Error & { readonly code: string }): Problem {
  if (error instanceof Refusal || error instanceof ProgramError) return { code: error.code, message: error.message };
  return { code: 'KernelRefused', message: `the kernel refused ${error.message}; the daemon retries` };
}
