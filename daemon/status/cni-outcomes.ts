/** What became of a CNI request → metrics and the log. */
import type { Logger } from '../../lib/run/logger.ts';
import type { Outcome } from '../cni/commands.ts';
import type { DaemonMetrics } from './metrics.ts';

/** Failures are the runtime's business, and an administrator's: one line each. */
export function report(outcome: Outcome, metrics: DaemonMetrics, log: Logger): void {
  metrics.onOutcome(outcome);
  const { command, request, error, code } = outcome;
  const fields = {
    command,
    code,
    ms: Math.round(outcome.ms),
    ...(request?.command === 'ADD' ? { pod: `${request.podNamespace}/${request.podName}` } : {}),
  };
  // A runtime asks for the status every few seconds, and the Node's condition tells it anyway.
  if (error === undefined || command === 'STATUS') log.debug(fields, error?.message ?? 'CNI request done');
  else log.warn({ ...fields, details: error.details }, error.message);
}
