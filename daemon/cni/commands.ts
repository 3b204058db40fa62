/** A request of the shim → its answer: parse, perform, render. A CniError becomes JSON on stdout with exit status 1. */
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { AvailabilityProblem } from '../plan/availability.ts';
import type { Attachments } from './attachments.ts';
import { CniError, errorCode, renderError } from './error.ts';
import type { ShimAnswer, ShimRequest } from './protocol.ts';
import { answerVersion, parseCniRequest, type CniRequest } from './request.ts';
import { renderResult, renderVersion } from './result.ts';

/** Outcome of one request, for logs and metrics. */
export interface Outcome {
  readonly command: string;
  readonly request: CniRequest | undefined;
  /** The CNI error code; 0 for success. */
  readonly code: number;
  readonly error: CniError | undefined;
  readonly ms: number;
}

export interface CommandsOptions {
  readonly attachments: Pick<Attachments, 'add' | 'check' | 'del' | 'gc'>;
  /** Why ADD cannot work on this node now; undefined if it can. */
  readonly findUnavailable: () => AvailabilityProblem | undefined;
  readonly onOutcome: (outcome: Outcome) => void;
  /** Aborts when the daemon ends; requests under way are then abandoned and undone. */
  readonly stopping: AbortSignal;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

export function cniCommands(
  options: CommandsOptions,
): (request: ShimRequest, signal: AbortSignal) => Promise<ShimAnswer> {
  const { onOutcome, now, stopping } = options;
  return async (raw, gone) => {
    const signal = AbortSignal.any([gone, stopping]);
    const start = now();
    const command = raw.environment.get('CNI_COMMAND') ?? '';
    let request: CniRequest | undefined;
    try {
      request = parseCniRequest(raw);
      const stdout = await perform(options, request, signal);
      onOutcome({ command, request, code: 0, error: undefined, ms: now() - start });
      return { exitStatus: 0, stdout };
    } catch (thrown) {
      const error = asCniError(thrown, signal);
      onOutcome({ command, request, code: error.code, error, ms: now() - start });
      return { exitStatus: 1, stdout: renderError(answerVersion(raw.stdin), error) };
    }
  };
}

/** Returns the text for stdout. */
async function perform(options: CommandsOptions, request: CniRequest, signal: AbortSignal): Promise<string> {
  const { attachments, findUnavailable } = options;
  switch (request.command) {
    case 'ADD':
      return renderResult(request.cniVersion, await attachments.add(request, signal), request.prevResult);
    case 'CHECK':
      await attachments.check(request);
      return '';
    case 'DEL':
      await attachments.del(request);
      return '';
    case 'GC':
      await attachments.gc(request);
      return '';
    case 'STATUS':
      refuseUnavailable(findUnavailable());
      return '';
    case 'VERSION':
      return renderVersion(request.cniVersion);
  }
}

function refuseUnavailable(problem: AvailabilityProblem | undefined): void {
  if (problem === undefined) return;
  const code = problem.isLimiting ? errorCode.limited : errorCode.notAvailable;
  throw new CniError(code, `the network of this node is not ready: ${problem.code}`, problem.message);
}

/** Any other error is a defect: it is rethrown and ends the process, and the shim answers the runtime to try again. */
function asCniError(error: unknown, signal: AbortSignal): CniError {
  if (error instanceof CniError) return error;
  if (error instanceof NetlinkError)
    return new CniError(errorCode.internal, `the kernel refused ${error.message}`, undefined, { cause: error });
  if (signal.aborted && error === signal.reason)
    return new CniError(errorCode.tryAgainLater, 'the request was abandoned', String(signal.reason));
  throw error;
}
