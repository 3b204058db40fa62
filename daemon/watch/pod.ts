/** Pods bound to this node, as the API server has them → PodFacts. */
import type { RawObject } from '../../lib/kube/types.ts';
import type { PodFacts } from '../state/facts.ts';
import { parseAttachable } from './address.ts';

export function parsePod({ metadata }: RawObject): PodFacts {
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    network: parseAttachable(metadata.annotations ?? {}),
  };
}
