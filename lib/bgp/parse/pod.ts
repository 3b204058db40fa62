import { annotation } from '../../api/names.ts';
import type { RawObject } from '../../kube/types.ts';
import type { Labels, Pod } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

const suffix = annotation.ipAddress.slice(annotation.ipAddress.indexOf('.'));
const switchSuffix = annotation.logicalSwitch.slice(annotation.logicalSwitch.indexOf('.'));

/** A pod with the addresses that the controller noted on it, those of further interfaces too. */
export function parsePod(raw: RawObject): Pod {
  const { metadata } = raw;
  const { nodeName = '', hostNetwork = false } = (raw['spec'] ?? {}) as { nodeName?: string; hostNetwork?: boolean };
  const { phase = '', conditions = [] } = (raw['status'] ?? {}) as {
    phase?: string;
    conditions?: readonly { type: string; status: string }[];
  };
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    labels: metadata.labels ?? {},
    node: nodeName,
    isAlive: phase !== 'Succeeded' && phase !== 'Failed',
    isReady: conditions.every(({ type, status }) => type !== 'Ready' || status !== 'False'),
    addresses: hostNetwork ? [] : addressesOf(metadata.annotations ?? {}),
    annotation: parseBgpAnnotation(metadata.annotations),
  };
}

function addressesOf(annotations: Labels): Pod['addresses'] {
  return Object.entries(annotations).flatMap(([key, text]) => {
    if (!key.endsWith(suffix)) return [];
    const provider = key.slice(0, -suffix.length);
    const subnet = annotations[`${provider}${switchSuffix}`] ?? '';
    return text.split(',').flatMap((one) => {
      const ip = canonicalIp(one.trim());
      return ip === undefined ? [] : [{ ip, subnet }];
    });
  });
}
