/**
 * The frame of every process: signals become one AbortSignal, and an unexpected error ends the process.
 * The rooms' main.ts call only `runRoom` at top level. Rule: an unknown error always ends the process; its supervisor
 * restarts it, and the start is a full round.
 */
import { FatalError } from './fatal-error.ts';
import { UsageError } from './flags.ts';
import { createLogger, logLevels } from './logger.ts';
import type { Logger } from './logger.ts';

/** Longest time from SIGTERM to the end of the process; below Kubernetes' default grace period of 30 s. */
const shutdownGraceMs = 20_000;

/**
 * Runs a room until it ends or SIGTERM/SIGINT abort `signal`, then exits the process:
 * 0 after a clean end, 2 on a bad command line, 1 on everything else. The level of `log` is ISTHMUS_LOG_LEVEL.
 */
export function runRoom(name: string, main: (signal: AbortSignal, log: Logger) => Promise<void>): void {
  const log = createLogger(name, logLevels.find((level) => level === process.env['ISTHMUS_LOG_LEVEL']) ?? 'info');
  const controller = new AbortController();
  const crash = (error: unknown): never => {
    if (error instanceof FatalError) log.fatal({ reason: error.code }, `ending the process: ${error.message}`);
    else log.fatal({ err: error }, 'unexpected error, ending the process');
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stop(controller, log, name));

  main(controller.signal, log).then(
    () => process.exit(0),
    (error: unknown) => {
      if (error instanceof UsageError) return usage(error);
      if (controller.signal.aborted && isAbort(error, controller.signal)) process.exit(0);
      return crash(error);
    },
  );
}

function stop(controller: AbortController, log: Logger, name: string): void {
  if (controller.signal.aborted) return;
  log.info({ signal: name }, 'stopping');
  controller.abort(new DOMException(`stopped by ${name}`, 'AbortError'));
  setTimeout(() => {
    log.error({ graceMs: shutdownGraceMs }, 'did not stop in time, ending the process');
    process.exit(1);
  }, shutdownGraceMs).unref();
}

function usage(error: UsageError): never {
  (error.exitCode === 0 ? process.stdout : process.stderr).write(`${error.message.trimEnd()}\n`);
  process.exit(error.exitCode);
}

/** Library calls report an abort as the signal's reason, or as an AbortError of their own. */
function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}
