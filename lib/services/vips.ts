/** The virtual addresses of Services with their ports, in the notation of OVN. Pure. */
import { type Family, familyOf } from '../net/ip.ts';
import { backendKey } from './backends.ts';
import { servedExternalIps, type Service, type ServicePort, sourceRangesOf } from './service.ts';

/** One address with one port of a Service. */
export interface ServiceVip {
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly family: Family;
  readonly address: string;
  readonly port: ServicePort;
  /** Whether it is a ClusterIP, to which `internalTrafficPolicy` applies. */
  readonly isInternal: boolean;
  /** Whether it is for clients in `loadBalancerSourceRanges` only. */
  readonly isRanged: boolean;
}

export const ovnProtocols = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

/**
 * Each once. Addresses of a family without a ClusterIP are those of other programs: the Service has no endpoints of that family.
 * @param allowed.externalIps whether the cluster allows `spec.externalIPs`
 */
export function vipsOf(
  service: Service,
  { externalIps = false }: { readonly externalIps?: boolean },
): readonly ServiceVip[] {
  if (!service.isServed) return [];
  const { clusterIps, loadBalancerIps } = service;
  const ranged = new Set(loadBalancerIps.filter((ip) => sourceRangesOf(service, familyOf(ip)) !== undefined));
  const families = new Set(clusterIps.map(familyOf));
  const vips = new Map<string, ServiceVip>();
  for (const [addresses, isInternal, isRanged] of [
    [clusterIps, true, false],
    [loadBalancerIps.filter((ip) => !ranged.has(ip)), false, false],
    [externalIps ? servedExternalIps(service) : [], false, false],
    [ranged, false, true],
  ] as const)
    for (const address of addresses)
      for (const port of service.ports) {
        const family = familyOf(address);
        if (!families.has(family)) continue;
        const vip = { protocol: ovnProtocols[port.protocol], family, address, port, isInternal, isRanged };
        const id = vipId(vip);
        if (!vips.has(id)) vips.set(id, vip);
      }
  return [...vips.values()];
}

/** `tcp 10.96.0.1:443`. */
export function vipId({ protocol, address, port }: VipName): string {
  return `${protocol} ${backendKey(address, port.port)}`;
}

type VipName = Pick<ServiceVip, 'protocol' | 'address'> & { readonly port: Pick<ServicePort, 'port'> };
