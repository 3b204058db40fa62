/** Pods bound to this node, as the API server has them → PodFacts. */
import { annotation, podPortName } from '../../lib/api/names.ts';
import { addressConditionOf } from '../../lib/api/pod-addresses.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { PodFacts } from '../model/facts.ts';
import { parseInterface } from './interface.ts';

// `ovn.kubernetes.io/…` and `<attachment>.<namespace>.ovn[.<interface>].kubernetes.io/…`
const interfaceKey = /^(ovn|[^/]+\.ovn(?:\.[^./]+)?)\.kubernetes\.io\//;

// kubelet writes it, and nobody may change it (kubernetes/pkg/kubelet/types, ConfigMirrorAnnotationKey).
const mirrorOf = 'kubernetes.io/config.mirror';

export function parsePod({ metadata, status }: RawObject): PodFacts {
  const annotations = metadata.annotations ?? {};
  const providers = new Set(Object.keys(annotations).flatMap((key) => interfaceKey.exec(key)?.[1] ?? []));
  const told = addressConditionOf(status);
  const parsed = [...providers].map((provider) => parseInterface(annotations, provider, told));
  const namespace = metadata.namespace ?? '';
  return {
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    staticUid: annotations[mirrorOf] || undefined,
    portOwner: podPortName(namespace, annotations[annotation.virtualMachine] || metadata.name),
    interfaces: new Map(parsed.map(({ facts }) => [facts.provider, facts])),
    told,
    problems: parsed.flatMap(({ problems }) => problems),
  };
}
