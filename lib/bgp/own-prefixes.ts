// The prefixes of objects, announced or not, and which object has an address.
import { bgpSources } from '../api/kinds/bgp-advertisement.ts';
import { type Cidr, cidrCovers, parseCidr } from '../net/cidr.ts';
import { hostPrefix } from './offers/host-routes.ts';
import { objectsOf } from './offers/view.ts';
import type { BgpState, ObjectRef } from './objects.ts';

export interface OwnPrefix {
  readonly prefix: string;
  /** `address`, `ClusterIP`, `CIDR`. */
  readonly what: string;
}

export function ownPrefixesOf(state: BgpState, { source, key }: ObjectRef): readonly OwnPrefix[] {
  const hosts = (what: string, ips: readonly string[] = []) => ips.map((ip) => ({ prefix: hostPrefix(ip), what }));
  const service = source === 'Service' ? state.services.get(key) : undefined;
  switch (source) {
    case 'Subnet':
      return (state.subnets.get(key)?.prefixes ?? []).map((prefix) => ({ prefix, what: 'CIDR' }));
    case 'Pod':
      return hosts(
        'address',
        state.pods.get(key)?.addresses.map(({ ip }) => ip),
      );
    case 'Service':
      return [
        ...hosts('ClusterIP', service?.clusterIps),
        ...hosts('ExternalIP', service?.externalIps),
        ...hosts('LoadBalancerIP', service?.loadBalancerIps),
      ];
    case 'Eip':
      return hosts('address', state.eips.get(key)?.ips);
    case 'Interconnect':
      return (state.remotes.get(key)?.routes ?? []).map(({ prefix }) => ({ prefix, what: 'prefix' }));
  }
}

/** Objects that have such a prefix. */
export function ownersOf(state: BgpState, isMeant: (prefix: string) => boolean): readonly ObjectRef[] {
  return allObjects(state).filter((ref) => ownPrefixesOf(state, ref).some(({ prefix }) => isMeant(prefix)));
}

export function allObjects(state: BgpState): readonly ObjectRef[] {
  const objects = objectsOf(state);
  return bgpSources.flatMap((source) => [...objects[source].keys()].map((key) => ({ source, key })));
}

/** Whether the one prefix holds the other, or is it. False if one of them is none. */
export function holds(outer: string, inner: string): boolean {
  const [wide, narrow] = [parseCidr(outer), parseCidr(inner)] as readonly (Cidr | undefined)[];
  return wide !== undefined && narrow !== undefined && cidrCovers(wide, narrow);
}
