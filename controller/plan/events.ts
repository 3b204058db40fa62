import type { Problem } from '../../lib/desired/problem.ts';
import type { WantedEvent } from './report.ts';

/** `CidrOverlap: …`, with the reason that tells which step failed. */
export function failure(reason: string, { code, message }: Problem): WantedEvent {
  return { type: 'Warning', reason, message: `${code}: ${message}` };
}
