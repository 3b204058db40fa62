import { annotation } from '../../api/names.ts';
import { addressConditionOf, isVouchedFor } from '../../api/pod-addresses.ts';
import { fieldsOf, recordsOf, textOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import type { Labels, Pod } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

const suffix = annotation.ipAddress.slice(annotation.ipAddress.indexOf('.'));
const switchSuffix = annotation.logicalSwitch.slice(annotation.logicalSwitch.indexOf('.'));

/** A pod with the addresses that the controller gave it, those of further interfaces too. */
export function parsePod(raw: RawObject): Pod {
  const { metadata, status } = raw;
  const { nodeName, hostNetwork } = fieldsOf(raw['spec']);
  const { phase, conditions } = fieldsOf(status);
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    labels: metadata.labels ?? {},
    node: textOf(nodeName),
    isAlive: phase !== 'Succeeded' && phase !== 'Failed',
    isReady: recordsOf(conditions).every(({ type, status }) => type !== 'Ready' || status !== 'False'),
    addresses: hostNetwork === true ? [] : addressesOf(metadata.annotations ?? {}, status),
    annotation: parseBgpAnnotation(metadata.annotations),
  };
}

/**
 * The addresses in annotations count if the controller vouches for them. Without a condition of the controller, as on a pod that is
 * older than the controller, they count if the kubelet reports them too.
 */
function addressesOf(annotations: Labels, status: unknown): Pod['addresses'] {
  const condition = addressConditionOf(status);
  const podIps = recordsOf(fieldsOf(status)['podIPs']);
  const seen = new Set(condition === undefined ? podIps.map(({ ip }) => canonicalIp(textOf(ip))) : []);
  return Object.entries(annotations).flatMap(([key, text]) => {
    if (!key.endsWith(suffix)) return [];
    const provider = key.slice(0, -suffix.length);
    const subnet = annotations[`${provider}${switchSuffix}`] ?? '';
    const isVouched = isVouchedFor(condition, annotations, provider);
    return text.split(',').flatMap((one) => {
      const ip = canonicalIp(one.trim());
      return ip === undefined || !(isVouched || seen.has(ip)) ? [] : [{ ip, subnet }];
    });
  });
}
