import { annotation } from '../../api/names.ts';
import type { BgpAnnotation, Labels } from '../objects.ts';

/** The annotation `ovn.kubernetes.io/bgp`, with Kube-OVN's meanings. */
export function parseBgpAnnotation(annotations: Labels | undefined): BgpAnnotation {
  const text = annotations?.[annotation.bgp];
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'cluster') return { scope: 'cluster' };
  if (text === 'local') return { scope: 'local' };
  if (text === 'false' || text === '') return { scope: 'none' };
  return { scope: 'invalid', text: text.slice(0, 64) };
}
