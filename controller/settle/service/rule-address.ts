/**
 * Whether a SwitchLBRule may have its virtual address. In: the address and the VPC. Out: why not, and the ports whose addresses were read.
 * Rule: packets to an address of a pod, a node or a network must not come to a load balancer. In a Subnet that is older than the rule the
 * address must be that of a Vip of type `switch_lb_vip`, so that no pod gets it and the router answers for it.
 */
import { defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp, type Ip } from '../../../lib/net/ip.ts';
import { specialUse } from '../../../lib/net/special-use.ts';
import type { Service } from '../../../lib/services/service.ts';
import { parsePoolRange } from '../../../lib/services/load-balancer.ts';
import { partsOf } from '../../model/net-parts.ts';
import { hairpinSources } from '../../../lib/services/balancer.ts';
import type { LoadBalancerPool } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { isPoolInForce } from '../load-balancer/judge-pools.ts';

/** The name of a Vip's port is `vip/<name>`. */
const vipPrefix = 'vip/';

export interface AddressReading {
  readonly problem: Problem | undefined;
  /** Ports whose addresses the answer depends on. */
  readonly ports: readonly string[];
}

/** Other VPCs have no route to these, so an equal address does no harm there. */
function ownerBeyond(view: View, vpc: string, ip: Ip, createdMs: number): string | undefined {
  const text = formatIp(ip);
  for (const { name, vpc: of, cidrs } of view.transitSwitches.values())
    if (of === vpc && cidrs.some((cidr) => cidrContains(cidr, ip))) return `the network of TransitSwitch ${name}`;
  if (vpc !== defaultVpc) return undefined;
  if (view.capabilities.apiServer?.includes(text) === true) return 'Service default/kubernetes';
  for (const name of view.indexes.nodesByTrait.of(text)) return `Node ${name}`;
  for (const { name, cidrs } of view.serviceCidrs.values())
    for (const cidr of cidrs.flatMap((one) => parseCidr(one) ?? []))
      if (cidrContains(cidr, ip)) return `ServiceCIDR ${name} (${formatCidr(cidr)}), from which Services get addresses`;
  // A younger pool has an address that the rule has, and its Service says so.
  for (const pool of view.loadBalancerPools.values())
    if (pool.createdMs <= createdMs && isPoolInForce(pool) && isInPool(pool, ip))
      return `LoadBalancerPool ${pool.name}, from which Services get addresses`;
  return undefined;
}

function isInPool({ spec }: LoadBalancerPool, { family, value }: Ip): boolean {
  return spec.addresses
    .flatMap((text) => parsePoolRange(text) ?? [])
    .some((range) => range.family === family && range.first <= value && value <= range.last);
}

function inUse(ip: Ip, owner: string): Problem {
  return { code: 'AddressInUse', message: `spec.vip: ${formatIp(ip)} is an address of ${owner}: choose another` };
}

function readInSubnet(view: View, subnet: string, ip: Ip, createdMs: number): AddressReading {
  const net = view.verdicts.get(subnet)?.net;
  const part = net && partsOf(net).find(({ cidr }) => cidrContains(cidr, ip));
  if (part === undefined) return { problem: undefined, ports: [] };
  if (subnet === joinSubnet) return { problem: inUse(ip, `Subnet ${subnet}, which is for nodes`), ports: [] };
  if (part.gateway === ip.value) return { problem: inUse(ip, `Subnet ${subnet}: its gateway`), ports: [] };
  const owner = view.pool(subnet)?.pool(ip.family)?.owner(ip.value);
  const ports = owner === undefined ? [] : [owner];
  const vip = owner?.startsWith(vipPrefix) === true ? view.vips.get(owner.slice(vipPrefix.length)) : undefined;
  if (vip?.spec.type === 'switch_lb_vip') return { problem: undefined, ports };
  // Of the two the rule came first.
  if (createdMs < (view.subnets.get(subnet)?.createdMs ?? 0)) return { problem: undefined, ports };
  if (vip !== undefined) {
    const message = `spec.vip: ${formatIp(ip)} is the address of Vip ${vip.name}, whose type is not switch_lb_vip: set its spec.type, or choose another address`;
    return { problem: { code: 'AddressInUse', message }, ports };
  }
  if (owner !== undefined) return { problem: inUse(ip, `port ${owner} in Subnet ${subnet}`), ports };
  const message = `spec.vip: ${formatIp(ip)} is in Subnet ${subnet}, which may give it to a pod: create a Vip with this address, spec.subnet ${subnet} and spec.type switch_lb_vip, or choose an address outside of all Subnets of the Vpc`;
  return { problem: { code: 'AddressNotReserved', message }, ports };
}

function specialProblem(ip: Ip): Problem | undefined {
  const text = formatIp(ip);
  const isHairpin = hairpinSources.some((source) => source === text);
  const use = isHairpin
    ? 'connections of a pod to itself'
    : specialUse({ family: ip.family, network: ip.value, prefix: bitsOf(ip.family) });
  if (use === undefined) return undefined;
  return { code: 'AddressInvalid', message: `spec.vip: ${text} is for ${use}: choose another address` };
}

/** Whether the virtual addresses of a rule, as the Service that it amounts to, are free for it in the VPC. */
export function readVips(view: View, vpc: string, { clusterIps, createdMs }: Service): AddressReading {
  let problem: Problem | undefined;
  const ports: string[] = [];
  for (const ip of clusterIps.flatMap((text) => parseIp(text) ?? [])) {
    problem ??= specialProblem(ip);
    const beyond = ownerBeyond(view, vpc, ip, createdMs);
    if (beyond !== undefined) problem ??= inUse(ip, beyond);
    for (const subnet of [...view.indexes.subnetsByVpc.of(vpc)].sort()) {
      const reading = readInSubnet(view, subnet, ip, createdMs);
      problem ??= reading.problem;
      ports.push(...reading.ports);
    }
  }
  return { problem, ports };
}
