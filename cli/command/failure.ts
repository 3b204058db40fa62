/** A command cannot do what was requested, for a known reason: the problem's message is printed, and the exit code is 1 or 3. */
import type { Problem } from '../../lib/desired/problem.ts';

export class CommandFailed extends Error {
  readonly code: string;
  readonly exitCode: 1 | 3;
  constructor({ code, message }: Problem, exitCode: 1 | 3 = 1) {
    super(message);
    this.name = 'CommandFailed';
    this.code = code;
    this.exitCode = exitCode;
  }
}
