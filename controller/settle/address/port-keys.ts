import { u2oPortPrefix } from '../../../lib/api/names.ts';
import type { Kinds } from '../../model/objects.ts';
import type { IpObject } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** Keys of the objects whose right to ports a changed object has a say in. */
export function portKeysOf(
  { kind, name, before }: { readonly kind: keyof Kinds; readonly name: string; readonly before?: unknown },
  view: View,
): readonly string[] {
  if (kind === 'pods') return [`pod/${name}`];
  if (kind === 'nodes') return [`node/${name}`];
  if (kind === 'vips') return [`vip/${name}`];
  if (kind === 'subnets') return [`mcast/${name}`, `u2o/${name}`];
  if (kind !== 'ips') return [];
  const ip = view.ips.get(name) ?? (before as IpObject | undefined);
  if (ip === undefined) return [`ip/${name}`];
  const { podName, namespace, subnet } = ip.spec;
  if (podName === '') return [`ip/${name}`, ...(name.startsWith(u2oPortPrefix) ? [`u2o/${subnet}`] : [])];
  return [`ip/${name}`, namespace === '' ? `node/${podName}` : `pod/${namespace}/${podName}`];
}
