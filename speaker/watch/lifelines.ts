/**
 * Parses TransitSwitch, Interconnect and ServiceCIDR into the networks and addresses that no learned route may cover.
 */
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { TransitSwitchSpec, TransitSwitchStatus } from '../../lib/api/kinds/transit-switch.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import type { TransitNetwork } from '../../lib/bgp/lifelines.ts';
import type { RawObject } from '../../lib/kube/types.ts';

/** One prefix per IP family, and the participating VPC. */
export function parseTransitNetwork(raw: RawObject): Omit<TransitNetwork, 'name'> {
  const { vpc: wanted } = (raw['spec'] ?? {}) as Partial<TransitSwitchSpec>;
  const { cidr = '', vpc = wanted ?? defaultVpc } = (raw['status'] ?? {}) as TransitSwitchStatus;
  return { vpc, prefixes: cidr.split(',').map((text) => text.trim()) };
}

/** Host name or address of the hub. */
export function parseHubHost(raw: RawObject): string {
  const { hub = '' } = (raw['spec'] ?? {}) as Partial<InterconnectSpec>;
  return hub.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

export function parseServiceCidr(raw: RawObject): readonly string[] {
  const { cidrs = [] } = (raw['spec'] ?? {}) as { readonly cidrs?: readonly string[] };
  return cidrs;
}
