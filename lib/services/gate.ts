/**
 * What pods of a custom VPC reach by the gate of their node: DNS and the API server, by the addresses of their Services. The controller leads
 * packets to the gate by load balancers, and the daemon sends them from there to the Services. Pure.
 */
import { formatIp, parseIp, type Family } from '../net/ip.ts';
import type { Service } from './service.ts';

export const dnsService = { namespace: 'kube-system', name: 'kube-dns' } as const;
export const apiService = { namespace: 'default', name: 'kubernetes' } as const;

const dnsPort = 53;

/**
 * The network between the router of a VPC and the gate, the same in each VPC. Subnets cannot have link-local addresses of IPv4; the prefix of IPv6
 * is a random one (RFC 4193).
 */
export const gateNetwork = {
  4: { cidr: '169.254.253.0/30', prefix: 30, router: '169.254.253.1', gate: '169.254.253.2' },
  6: { cidr: 'fd3b:9d15:7c2e:53::/126', prefix: 126, router: 'fd3b:9d15:7c2e:53::1', gate: 'fd3b:9d15:7c2e:53::2' },
} as const;

/** The gate's MAC address: each gate is alone on its switch. */
export const gateMac = '06:64:6e:73:00:02';

/** An address, protocol and port of a Service; the gate has the same port. */
export interface GateTarget {
  readonly family: Family;
  readonly address: string;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

function targetsOf(service: Service | undefined, isWanted: (port: number) => boolean): readonly GateTarget[] {
  return (service?.clusterIps ?? []).flatMap((text) => {
    const ip = parseIp(text);
    if (ip === undefined) return [];
    return (service?.ports ?? []).flatMap(({ protocol, port }): readonly GateTarget[] => {
      if (!isWanted(port) || protocol === 'SCTP') return [];
      const name = protocol === 'TCP' ? 'tcp' : 'udp';
      return [{ family: ip.family, address: formatIp(ip), protocol: name, port }];
    });
  });
}

/** What gates lead to, by the Service of DNS and that of the API server. */
export function gateTargets(dns: Service | undefined, api: Service | undefined): readonly GateTarget[] {
  return [...dnsTargets(dns), ...apiTargets(api)];
}

/** Port 53 of the DNS Service. */
export function dnsTargets(service: Service | undefined): readonly GateTarget[] {
  return targetsOf(service, (port) => port === dnsPort);
}

/** All ports of the Service `kubernetes`, but for that of DNS. */
export function apiTargets(service: Service | undefined): readonly GateTarget[] {
  return targetsOf(service, (port) => port !== dnsPort);
}
