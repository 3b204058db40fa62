/** Outcomes of CNI requests → metrics and the log. */
import type { Logger } from '../../lib/run/logger.ts';
import type { Outcome } from '../cni/commands.ts';
import type { DaemonMetrics } from './metrics.ts';

/** A failure is logged in one line; the runtime reports it to the user. */
export function reportOutcome(outcome: Outcome, metrics: DaemonMetrics, log: Logger): void {
  metrics.onOutcome(outcome);
  const { command, request, error, code } = outcome;
  const fields = {
    command,
    code,
    ms: Math.round(outcome.ms),
    ...(request?.command === 'ADD' ? { pod: `${request.podNamespace}/${request.podName}` } : {}),
  };
  // Runtimes send STATUS every few seconds, and the condition of the Node says the same.
  if (error === undefined || command === 'STATUS') log.debug(fields, error?.message ?? 'CNI request done');
  else log.warn({ ...fields, details: error.details }, error.message);
}
