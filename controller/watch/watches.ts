/** Watches every kind of `kinds.ts` and hands its parsed objects to the state. */
import { reflect } from '../../lib/kube/reflector.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Kinds } from '../model/objects.ts';
import { kinds } from './kinds.ts';
import type { WatchedKind } from './kinds.ts';

export interface WatchOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onChange: <K extends keyof Kinds>(kind: K, key: string, after: Kinds[K] | undefined) => void;
}

/** Starts all watches; resolves once all existing objects were delivered. */
export async function openWatches(options: WatchOptions): Promise<void> {
  await Promise.all((Object.keys(kinds) as (keyof Kinds)[]).map((kind) => watch(kind, options)));
}

/** Resolves once the existing objects of the kind were delivered. */
function watch(kind: keyof Kinds, { client, signal, log, onChange }: WatchOptions): Promise<void> {
  const { resource, parse, isOptional: optional = false, open }: WatchedKind<Kinds[keyof Kinds]> = kinds[kind];
  const reflector =
    open?.({ client, signal, log, optional }) ?? reflect({ client, resource, parse, signal, log, optional });
  reflector.subscribe(({ key, after }) => onChange(kind, key, after));
  return reflector.synced;
}
