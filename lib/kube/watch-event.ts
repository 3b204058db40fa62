import { KubeApiError } from './errors.ts';
import type { RawObject } from './types.ts';

/** One line of a watch. */
export type WatchEvent =
  | { readonly type: 'put'; readonly object: RawObject }
  | { readonly type: 'deleted'; readonly object: RawObject }
  | { readonly type: 'bookmark'; readonly resourceVersion: string; readonly endsInitialEvents: boolean };

/** A line that is no watch event: the stream cannot be trusted any more. */
export class UndecodableEvent extends Error {
  override name = 'UndecodableEvent';
}

/** The error with which the server ends a watch that it had begun. */
export class WatchFailed extends KubeApiError {
  override name = 'WatchFailed';
}

/** Reads one line. Pure. @throws UndecodableEvent; WatchFailed when the line is the server's error */
export function decodeWatchEvent(line: string): WatchEvent {
  const { type, object } = parseLine(line);
  if (type === 'ERROR') {
    const status = object as { code?: number; reason?: string; message?: string };
    throw new WatchFailed(
      status.code ?? 500,
      status.reason ?? '',
      `in a watch: ${status.message ?? line.slice(0, 200)}`,
    );
  }
  const { metadata } = object as Partial<RawObject>;
  if (typeof metadata?.resourceVersion !== 'string') throw undecodable(line);
  if (type === 'BOOKMARK') {
    const endsInitialEvents = metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
    return { type: 'bookmark', resourceVersion: metadata.resourceVersion, endsInitialEvents };
  }
  if (typeof metadata.name !== 'string') throw undecodable(line);
  if (type === 'ADDED' || type === 'MODIFIED') return { type: 'put', object: object as RawObject };
  if (type === 'DELETED') return { type: 'deleted', object: object as RawObject };
  throw undecodable(line);
}

function parseLine(line: string): { type: unknown; object: object } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw undecodable(line);
  }
  const { type, object } = (value ?? {}) as { type?: unknown; object?: unknown };
  if (typeof object !== 'object' || object === null) throw undecodable(line);
  return { type, object };
}

function undecodable(line: string): UndecodableEvent {
  return new UndecodableEvent(`a watch sent a line that is no event: ${line.slice(0, 120)}`);
}
