/** Parses pods of this node. */
import { annotation, podPortName } from '../../lib/api/names.ts';
import { addressConditionOf } from '../../lib/api/pod-addresses.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Pod } from '../model/pod.ts';
import { parseInterface } from './interface.ts';

// `ovn.kubernetes.io/…` and `<attachment>.<namespace>.ovn[.<interface>].kubernetes.io/…`
const interfaceKey = /^(ovn|[^/]+\.ovn(?:\.[^./]+)?)\.kubernetes\.io\//;

// Written by the kubelet and immutable (kubernetes/pkg/kubelet/types, ConfigMirrorAnnotationKey).
const mirrorOf = 'kubernetes.io/config.mirror';

export function parsePod({ metadata, status }: RawObject): Pod {
  const annotations = metadata.annotations ?? {};
  const providers = new Set(Object.keys(annotations).flatMap((key) => interfaceKey.exec(key)?.[1] ?? []));
  const addressCondition = addressConditionOf(status);
  const parsed = [...providers].map((provider) => parseInterface(annotations, provider, addressCondition));
  const namespace = metadata.namespace ?? '';
  return {
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    labels: metadata.labels ?? {},
    staticUid: annotations[mirrorOf] || undefined,
    portOwner: podPortName(namespace, annotations[annotation.virtualMachine] || metadata.name),
    interfaces: new Map(parsed.map(({ facts }) => [facts.provider, facts])),
    addressCondition,
    problems: parsed.flatMap(({ problems }) => problems),
  };
}
