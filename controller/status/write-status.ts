/** Writes a status where it differs from what the object has: fields, conditions, then what is to be said of them. */
import { controllerFinalizer, formerFinalizers } from '../../lib/api/names.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Resource } from '../../lib/kube/types.ts';
import type { WantedCondition } from '../plan/report.ts';
import type { ApiObjectFacts } from '../model/objects.ts';
import { mergeConditions } from './conditions.ts';
import type { Desk } from './desk.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface StatusWrite {
  readonly resource: Resource;
  readonly object: ApiObjectFacts;
  /** Fields that are ours; null takes one away. */
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly WantedCondition[];
  /** Whether the status is a resource of its own; true by default. */
  readonly isSubresource?: boolean;
  /** Holds back writes that change no condition; `again` comes when it is time. */
  readonly pace?: {
    readonly of: RateLimiter;
    readonly again: () => void;
    /** Also those that change a condition. */
    readonly isForAll?: boolean;
  };
  /** What `conditions` come to, where they are not one of a type; the very list of the object where nothing differs. */
  readonly merged?: readonly Condition[];
  /** Once it is written. */
  readonly tell: () => void;
}

function statusKey({ kind }: Resource, name: string): string {
  return `${kind}/${name}/status`;
}

export function writeStatus({ client, told, nowMs }: Desk, wanted: StatusWrite): void {
  const { resource, object, pace, isSubresource = true } = wanted;
  const { name, uid, resourceVersion } = object;
  const fields = Object.entries(wanted.status).filter(
    ([field, value]) => JSON.stringify(object.status[field] ?? null) !== JSON.stringify(value ?? null),
  );
  const conditions = wanted.merged ?? mergeConditions(object.conditions, wanted.conditions, nowMs());
  const isTurned = conditions !== object.conditions;
  if (fields.length === 0 && !isTurned) return;
  const key = statusKey(resource, name);
  const isPaced = !isTurned || pace?.isForAll === true;
  if (isPaced && pace?.of.isTooEarly(key, pace.again) === true) return;
  pace?.of.written(key);
  const status = { ...Object.fromEntries(fields), ...(isTurned ? { conditions } : {}) };
  const write = (): ReturnType<typeof client.patch> =>
    client.patch(
      resource,
      { name },
      'merge',
      { metadata: { uid }, status },
      isSubresource ? { subresource: 'status' } : {},
    );
  // Without times, which differ at every look.
  const content = { fields, conditions: wanted.conditions };
  told.write(key, resourceVersion, content, write, wanted.tell);
}

/** Takes away from an object that is being deleted what a Kube-OVN controller kept it with. */
export function releaseFormer({ client, told }: Desk, resource: Resource, object: ApiObjectFacts): void {
  const { name, uid, resourceVersion } = object;
  const finalizers = object.finalizers.filter((one) => !formerFinalizers.includes(one));
  if (finalizers.length === object.finalizers.length) return;
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  const write = (): ReturnType<typeof client.patch> => client.patch(resource, { name }, 'merge', patch);
  told.write(`${resource.kind}/${name}`, resourceVersion, patch, write);
}

/** The list without what a controller of ours or of Kube-OVN's keeps there. */
export function othersOf(finalizers: readonly string[]): readonly string[] {
  return finalizers.filter((one) => one !== controllerFinalizer && !formerFinalizers.includes(one));
}

/** The object is gone. */
export function forget({ told }: Desk, resource: Resource, name: string, pace?: RateLimiter): void {
  told.forget(`${resource.kind}/${name}`);
  told.forget(statusKey(resource, name));
  pace?.forget(statusKey(resource, name));
}
