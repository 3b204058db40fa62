/** Names in the annotations of all interfaces of a pod, the pods that a Vip selects, and the security groups that pass packets on. */
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import { annotation } from '../../lib/api/names.ts';
import { listOf } from './interfaces.ts';
import type { Pod, SecurityGroup, Vip } from './objects.ts';

/** The end of an annotation's name, which is the same for all interfaces. */
function endOf(name: string): string {
  return name.slice(name.indexOf('/'));
}

const ends = { groups: endOf(annotation.securityGroups), pairs: endOf(annotation.addressPairs) } as const;

function listed({ annotations }: Pod, end: string): readonly string[] {
  const names: string[] = [];
  for (const key in annotations) if (key.endsWith(end)) names.push(...listOf(annotations[key] ?? ''));
  return names;
}

/** Security groups that a pod names for any interface. */
export function namedGroupsOf(pod: Pod): readonly string[] {
  return listed(pod, ends.groups);
}

/** Vips whose addresses a pod's annotations ask for on any interface. */
export function addressPairsOf(pod: Pod): readonly string[] {
  return listed(pod, ends.pairs);
}

/** The `key:value` pairs of a Vip as a selector; undefined if there is none, or one that no label can equal. */
export function vipSelector({ spec: { selector } }: Vip): LabelSelector | undefined {
  const labels = new Map<string, string>();
  for (const pair of selector) {
    const colon = pair.indexOf(':');
    const [key, value] = [pair.slice(0, Math.max(colon, 0)).trim(), pair.slice(colon + 1).trim()];
    if (colon <= 0 || (labels.has(key) && labels.get(key) !== value)) return undefined;
    labels.set(key, value);
  }
  return labels.size === 0 ? undefined : { matchLabels: Object.fromEntries(labels) };
}

/** Whether rules of a group pass packets to its members on to the groups of tier 1. */
export function passesOn({ spec }: SecurityGroup): boolean {
  return spec.tier === 0 && spec.ingressRules.some(({ policy }) => policy === 'pass');
}
