import { annotation, defaultVpc } from '../../../lib/api/names.ts';
import type { PlacedService } from '../../model/service-reading.ts';

/** The VPC of a Service, and what decides it. */
export function vpcOf({ service, slices, pods }: PlacedService): { readonly vpc: string; readonly from: string } {
  const annotated = service.annotations[annotation.vpc] ?? '';
  if (annotated !== '') return { vpc: annotated, from: `annotation ${annotation.vpc}` };
  const endpoints = slices.flatMap((slice) => slice.endpoints).sort((a, b) => (a.address < b.address ? -1 : 1));
  for (const { pod } of endpoints) {
    const vpc = pods.get(pod ?? '')?.vpc ?? '';
    if (vpc !== '') return { vpc, from: `pod ${pod ?? ''} behind it` };
  }
  return { vpc: defaultVpc, from: 'no endpoint is in another one' };
}
