/** The VPCs of a Service and of its endpoints. */
import { annotation, defaultVpc } from '../../../lib/api/names.ts';
import type { Endpoint, Service } from '../../../lib/services/service.ts';
import type { ServiceVerdict } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { slicesOf } from './frontends.ts';
import { hasRouter } from '../vpc/routers.ts';

/** The Subnet of an endpoint's pod; undefined for other endpoints, and for an address that the pod does not have. */
export function endpointSubnet(view: View, { pod, address }: Endpoint): string | undefined {
  if (pod === undefined) return undefined;
  const held = view.ports(`pod/${pod}`).find(({ allocation: { v4, v6 } }) => v4 === address || v6 === address);
  return held?.allocation.subnet;
}

/** Addresses of endpoints by the VPC of their pods, in order. */
function addressesByVpc(view: View, service: string): ReadonlyMap<string, readonly string[]> {
  const addresses = new Map<string, Set<string>>();
  for (const { endpoints } of slicesOf(view, service))
    for (const endpoint of endpoints) {
      const vpc = view.verdicts.get(endpointSubnet(view, endpoint) ?? '')?.vpc;
      if (vpc === undefined) continue;
      const there = addresses.get(vpc);
      if (there === undefined) addresses.set(vpc, new Set([endpoint.address]));
      else there.add(endpoint.address);
    }
  const sorted = [...addresses].map(([vpc, all]) => [vpc, [...all].sort()] as const);
  const firstOf = ([vpc, [first = '']]: readonly [string, readonly string[]]): string => `${first} ${vpc}`;
  return new Map(sorted.sort((a, b) => (firstOf(a) < firstOf(b) ? -1 : 1)));
}

export type Place = Omit<ServiceVerdict, 'takenVips'>;

/** The VPC whose pods reach a Service: the one it names, else that of its first endpoint; and its endpoints elsewhere. */
export function placeOfService(
  view: View,
  key: string,
  { annotations }: Service,
  otherwise: string = defaultVpc,
): Place {
  const addresses = addressesByVpc(view, key);
  const endpointVpcs = [...addresses.keys()];
  const vpc = annotations[annotation.vpc] || (endpointVpcs[0] ?? otherwise);
  const foreignEndpoints = [...addresses].flatMap(([other, all]) => (other === vpc ? [] : all));
  return { vpc, hasVpc: hasRouter(view, vpc), endpointVpcs, foreignEndpoints };
}
