import { isDropping, isLeading } from '../../model/egress-gateway.ts';
import type { EgressGateway } from '../../model/egress-gateway.ts';
import type { View } from '../../model/view.ts';

export type NamedGateway = EgressGateway & { readonly key: string };

/** The gateways of a VPC that lead packets away or drop them, by key. */
export function egressGatewaysOf(view: Pick<View, 'indexes' | 'egressGateways'>, vpc: string): readonly NamedGateway[] {
  return [...view.indexes.egressGatewaysBy.of(`vpc/${vpc}`)].sort().flatMap((key) => {
    const gateway = view.egressGateways.get(key);
    return isLeading(gateway) || isDropping(gateway) ? [{ key, ...gateway }] : [];
  });
}
