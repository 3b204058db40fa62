/**
 * Endpoints of a Service that nodes do not reach, because they are in another VPC than the default one: a node's packet to such an address would
 * reach another pod, or leave the cluster. Only the controller knows the VPC of an endpoint; an annotation of the Service publishes it. Pure.
 */
import { annotation, defaultVpc } from '../api/names.ts';
import type { Service } from './service.ts';

/** Of more addresses than that, nodes serve none. */
const mostListed = 256;
const all = '*';

/** The annotation of a Service in a VPC, with the addresses of its endpoints in others; null where it needs none. */
export function elsewhereText(
  vpc: string,
  { annotations }: Service,
  foreignEndpoints: readonly string[],
): string | null {
  // Nodes read the VPC that a Service names from the Service itself.
  if (vpc !== defaultVpc) return namedVpc(annotations) === vpc ? null : all;
  if (foreignEndpoints.length === 0) return null;
  return foreignEndpoints.length > mostListed ? all : foreignEndpoints.toSorted().join(',');
}

/** Addresses of endpoints that nodes leave out, or `all`. */
export function endpointsElsewhere({ annotations }: Service): 'all' | ReadonlySet<string> {
  if (namedVpc(annotations) !== defaultVpc) return 'all';
  const list = annotations[annotation.elsewhere] ?? '';
  return list === all ? 'all' : new Set(list === '' ? [] : list.split(','));
}

function namedVpc(annotations: Service['annotations']): string {
  return annotations[annotation.vpc] || defaultVpc;
}
