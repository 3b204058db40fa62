/** Parses RoutePolicy objects for the plans. Problems are part of the value. */
import { z } from 'zod';
import { routePolicySpec, type RoutePolicySpec, type RoutePolicyStatus } from '../api/kinds/route-policy.ts';
import { readAs } from '../api/read-as.ts';
import type { RawObject } from '../kube/types.ts';
import type { RoutePolicy } from './policy.ts';

/** On generated objects: their source. */
export const fromAnnotation = 'isthmus.network/from';

export function parseRoutePolicy(raw: RawObject): RoutePolicy {
  const { metadata } = raw;
  const parsed = readAs(routePolicySpec, raw['spec']);
  const status = (raw['status'] ?? {}) as RoutePolicyStatus;
  return {
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    resourceVersion: metadata.resourceVersion,
    spec: parsed.success ? parsed.data : { code: 'SpecInvalid', message: z.prettifyError(parsed.error) },
    inForce: specOf(status.inForce),
    status,
    from: metadata.annotations?.[fromAnnotation],
  };
}

/** Unreadable values, such as those of other writers, count as absent. */
function specOf(text: unknown): RoutePolicySpec | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return readAs(routePolicySpec, JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
