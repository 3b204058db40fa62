/** Reading single fields of raw objects: what has another type than expected counts as absent. */
import type { RawObject } from '../../lib/kube/types.ts';
import type { Condition, LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { ApiObjectFacts, ObjectFacts } from '../model/objects.ts';
import { shared } from './shared.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The members of a list as objects. */
export function recordsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
}

/** Zero where it is no number. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

export function selectorsOf(value: unknown): readonly LabelSelector[] {
  return recordsOf(value).map((selector) => selector as LabelSelector);
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

export function conditionsOf(status: Fields): readonly Condition[] {
  const conditions = Array.isArray(status['conditions']) ? status['conditions'] : [];
  return conditions.filter((one): one is Condition => typeof fieldsOf(one)['type'] === 'string');
}
