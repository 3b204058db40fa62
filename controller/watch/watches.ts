/** Watches every kind of `kinds.ts` and hands its parsed objects to the state. */
import { reflect } from '../../lib/kube/reflector.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Kinds } from '../model/objects.ts';
import { kinds } from './kinds.ts';
import type { WatchedKind } from './kinds.ts';
import { PolicyDeletions } from './policy-deletions.ts';

export interface WatchOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onChange: <K extends keyof Kinds>(kind: K, key: string, after: Kinds[K] | undefined) => void;
}

/** Starts all watches; resolves once all existing objects were delivered. */
export async function openWatches(options: WatchOptions): Promise<void> {
  const onChange = afterNamespaces(options);
  await Promise.all((Object.keys(kinds) as (keyof Kinds)[]).map((kind) => watch(kind, { ...options, onChange })));
}

/** Delivers changes, and the deletion of a NetworkPolicy after that of its Namespace. */
export function afterNamespaces({ client, signal, log, onChange }: WatchOptions): WatchOptions['onChange'] {
  const deletions = new PolicyDeletions({
    client,
    signal,
    log,
    deliver: (key) => onChange('networkPolicies', key, undefined),
  });
  return (kind, key, after) => {
    if (kind === 'networkPolicies') {
      if (after === undefined) return deletions.deleted(key);
      deletions.exists(key);
    }
    onChange(kind, key, after);
    if (kind === 'namespaces') deletions.namespaceChanged(key, after as Kinds['namespaces'] | undefined);
  };
}

/** Resolves once the existing objects of the kind were delivered. */
function watch(kind: keyof Kinds, { client, signal, log, onChange }: WatchOptions): Promise<void> {
  const { resource, parse, isOptional: optional = false, open, only }: WatchedKind<Kinds[keyof Kinds]> = kinds[kind];
  const selection = only && { namespace: only.namespace, fieldSelector: `metadata.name=${only.name}` };
  const reflector =
    open?.({ client, signal, log, optional }) ??
    reflect({ client, resource, parse, signal, log, optional, ...selection });
  reflector.subscribe(({ key, after }) => onChange(kind, key, after));
  return reflector.synced;
}
