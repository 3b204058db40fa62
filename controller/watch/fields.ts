/** Fields that many kinds have: a value of another type than expected counts as absent. */
import { conditionsOf } from '../../lib/api/conditions.ts';
import { readSelector } from '../../lib/api/label-selector.ts';
import { fieldsOf, type Fields } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { ApiObjectFacts, ObjectFacts } from '../model/object-facts.ts';
import { shared } from './shared.ts';

export function selectorsOf(value: unknown): readonly LabelSelector[] {
  return Array.isArray(value) ? value.map(readSelector) : [];
}

export function factsOf(raw: RawObject): ObjectFacts {
  const { name, uid, resourceVersion, creationTimestamp, deletionTimestamp } = raw.metadata;
  const createdMs = Date.parse(creationTimestamp ?? '');
  return {
    name,
    uid,
    resourceVersion,
    createdMs: Number.isNaN(createdMs) ? 0 : createdMs,
    isDeleting: deletionTimestamp !== undefined,
  };
}

export function apiFactsOf(raw: RawObject): ApiObjectFacts {
  const { conditions: _, ...status } = fieldsOf(raw['status']);
  return {
    ...factsOf(raw),
    generation: raw.metadata.generation ?? 0,
    finalizers: raw.metadata.finalizers ?? [],
    conditions: conditionsOf(fieldsOf(raw['status'])),
    status,
  };
}

/** Names of `candidates` that hold something; false, zero, empty text, lists and objects are nothing. */
export function namesSet(spec: Fields, candidates: readonly string[]): readonly string[] {
  return candidates.filter((name) => {
    const value = spec[name];
    if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
    return value !== undefined && value !== null && value !== false && value !== '' && value !== 0;
  });
}

/** Annotations that no two objects have alike. */
const isOneOfItsKind = /(?:ip|mac)_address$/;

export function pick(
  all: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = all?.[name];
    if (value !== undefined) picked[name] = isOneOfItsKind.test(name) ? value : shared(value);
  }
  return picked;
}
