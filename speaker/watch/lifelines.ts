/** TransitSwitch, Interconnect, ServiceCIDR → the networks and addresses in them that no router may take. */
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { TransitSwitchStatus } from '../../lib/api/kinds/transit-switch.ts';
import type { RawObject } from '../../lib/kube/types.ts';

/** One prefix per IP family. */
export function parseTransitNetworks(raw: RawObject): readonly string[] {
  const { cidr = '' } = (raw['status'] ?? {}) as TransitSwitchStatus;
  return cidr.split(',').map((text) => text.trim());
}

/** A name or an address. */
export function parseHubHost(raw: RawObject): string {
  const { hub = '' } = (raw['spec'] ?? {}) as Partial<InterconnectSpec>;
  return hub.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

export function parseServiceCidr(raw: RawObject): readonly string[] {
  const { cidrs = [] } = (raw['spec'] ?? {}) as { readonly cidrs?: readonly string[] };
  return cidrs;
}
