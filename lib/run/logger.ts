/**
 * Logs: one JSON object a line on stderr, so that stdout stays free for a command's answer.
 * Rooms take children with fixed keys (`pod`, `subnet`, `node`, `rev`); info is for state transitions only.
 */
import { pino } from 'pino';
import type { Logger } from 'pino';

export type { Logger } from 'pino';

/** Levels accepted by `createLogger`. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Opens the logger of a room, writing to stderr at once (a crash loses no line). */
export function createLogger(room: string, level: LogLevel = 'info'): Logger {
  return pino(
    {
      level,
      base: { room },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
