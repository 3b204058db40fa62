import { annotation } from '../../api/names.ts';
import { addressConditionOf, isVouchedFor } from '../../api/pod-addresses.ts';
import type { RawObject } from '../../kube/types.ts';
import type { Labels, Pod } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

const suffix = annotation.ipAddress.slice(annotation.ipAddress.indexOf('.'));
const switchSuffix = annotation.logicalSwitch.slice(annotation.logicalSwitch.indexOf('.'));

/** A pod with the addresses that the controller gave it, those of further interfaces too. */
export function parsePod(raw: RawObject): Pod {
  const { metadata, status } = raw;
  const { nodeName = '', hostNetwork = false } = (raw['spec'] ?? {}) as { nodeName?: string; hostNetwork?: boolean };
  const { phase = '', conditions = [] } = (status ?? {}) as {
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
    addresses: hostNetwork ? [] : addressesOf(metadata.annotations ?? {}, status),
    annotation: parseBgpAnnotation(metadata.annotations),
  };
}

/**
 * What annotations say counts as far as the controller vouches for them; of a pod that it has not spoken of, such as one that ran
 * before it did, as far as its kubelet says so.
 */
function addressesOf(annotations: Labels, status: unknown): Pod['addresses'] {
  const told = addressConditionOf(status);
  const { podIPs = [] } = (status ?? {}) as { podIPs?: readonly { ip?: string }[] };
  const seen = new Set(told === undefined ? podIPs.map(({ ip = '' }) => canonicalIp(ip)) : []);
  return Object.entries(annotations).flatMap(([key, text]) => {
    if (!key.endsWith(suffix)) return [];
    const provider = key.slice(0, -suffix.length);
    const subnet = annotations[`${provider}${switchSuffix}`] ?? '';
    const isVouched = isVouchedFor(told, annotations, provider);
    return text.split(',').flatMap((one) => {
      const ip = canonicalIp(one.trim());
      return ip === undefined || !(isVouched || seen.has(ip)) ? [] : [{ ip, subnet }];
    });
  });
}
