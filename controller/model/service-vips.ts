/** The virtual addresses of Services in OVN. Pure. */
import { type Family, familyOf } from '../../lib/net/ip.ts';
import { backendKey } from '../../lib/services/backends.ts';
import { servedExternalIps, type Service, type ServicePort, sourceRangesOf } from '../../lib/services/service.ts';
import { variableName } from '../../lib/services/variables.ts';
import type { Capabilities } from './view.ts';

/** One address with one port of a Service. */
export interface ServiceVip {
  /** In the notation of OVN. */
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly family: Family;
  readonly address: string;
  readonly port: ServicePort;
  /** Whether it is a ClusterIP, to which `internalTrafficPolicy` applies. */
  readonly isInternal: boolean;
}

/**
 * The source addresses of connections that an endpoint makes to itself by its Service, because an endpoint drops packets from its own
 * address. No Subnet may contain them.
 */
export const hairpinSources = ['169.254.169.5', 'fd69::5'] as const;

export const ovnProtocols = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

/**
 * The virtual addresses that load balancers of OVN serve, each once. Addresses that only some clients may use are left out: a load
 * balancer cannot tell clients apart, so these packets go to the node, which can. Addresses of a family without a ClusterIP are those of other
 * programs: the Service has no endpoints of that family.
 */
export function vipsOf(service: Service, { externalIps = false }: Capabilities): readonly ServiceVip[] {
  if (!service.isServed) return [];
  const balanced = service.loadBalancerIps.filter((ip) => sourceRangesOf(service, familyOf(ip)) === undefined);
  const external = externalIps ? servedExternalIps(service) : [];
  const families = new Set(service.clusterIps.map(familyOf));
  const vips = new Map<string, ServiceVip>();
  for (const [addresses, isInternal] of [
    [service.clusterIps, true],
    [balanced, false],
    [external, false],
  ] as const)
    for (const address of addresses)
      for (const port of service.ports) {
        const family = familyOf(address);
        if (!families.has(family)) continue;
        const vip = { protocol: ovnProtocols[port.protocol], family, address, port, isInternal };
        const id = vipId(vip);
        if (!vips.has(id)) vips.set(id, vip);
      }
  return [...vips.values()];
}

/** `tcp 10.96.0.1:443`. */
export function vipId({ protocol, address, port }: ServiceVip): string {
  return `${protocol} ${backendKey(address, port.port)}`;
}

/** `10.96.0.1:443`. In a row with variables, an IPv6 address is a variable too, because OVN splits these texts at every colon. */
export function vipText({ family, address, port }: ServiceVip, isTemplate: boolean): string {
  if (family === 4 || !isTemplate) return backendKey(address, port.port);
  return `^${variableName('vip', address)}:${port.port}`;
}
