/** Reads the VLAN of a Subnet's spec, or the problem. */
import type { Underlay } from '../../../lib/api/in-force.ts';
import { isRouted, routingOf } from '../../../lib/api/subnet-routing.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, lastOf } from '../../../lib/net/cidr.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetSpec } from '../../model/objects.ts';
import type { VlanVerdict } from '../../model/settled.ts';
import { parseAddresses } from '../address/port-request.ts';

type Outcome<T> = { readonly value: T } | { readonly problem: Problem };

function refuse(code: string, message: string): { readonly problem: Problem } {
  return { problem: { code, message } };
}

/** `value` is undefined of an overlay subnet. */
export function readUnderlay(spec: SubnetSpec, vlans: ReadonlyMap<string, VlanVerdict>): Outcome<Underlay | undefined> {
  const vlan = vlans.get(spec.vlan);
  const routing = routingOf(spec, vlan?.isByNodes);
  if (routing === 'overlay') return { value: undefined };
  if (spec.logicalGateway && spec.u2oInterconnection)
    return refuse(
      'U2OInvalid',
      'spec.logicalGateway and spec.u2oInterconnection cannot be used together: remove one of them',
    );
  if (spec.overlayOnlyRouting && routing !== 'u2o')
    return refuse(
      'U2OInvalid',
      'spec.u2oFeatures.overlayOnlyRouting needs spec.u2oInterconnection: set it, or remove overlayOnlyRouting',
    );
  if (vlan === undefined)
    return refuse(
      'VlanNotFound',
      `spec.vlan names Vlan ${spec.vlan}, which does not exist: create it, or name another`,
    );
  if (vlan.problem !== undefined)
    return refuse(vlan.problem.code, `spec.vlan: Vlan ${spec.vlan} is not in force: ${vlan.problem.message}`);
  if (vlan.isByNodes && routing !== 'nodes')
    return refuse(
      'U2OInvalid',
      `spec.${spec.logicalGateway ? 'logicalGateway' : 'u2oInterconnection'} needs a wire between the nodes, and ProviderNetwork ${vlan.provider} has routedByNodes: remove it, or use a Vlan of another ProviderNetwork`,
    );
  if (spec.cidrBlock.trim() === '' || spec.protocol === 'Mac')
    return refuse(
      'NotSupported',
      'subnets without IP addresses (empty spec.cidrBlock, spec.protocol Mac) cannot be served by this release: give the CIDR of the VLAN',
    );
  return { value: { provider: vlan.provider, vlan: vlan.id, routing } };
}

function flawOf(text: string, parts: readonly FamilyNet[]): string | undefined {
  const ips = parseAddresses(text);
  if (ips === undefined) return `'${text}' is not an address, or one of each family`;
  for (const ip of ips) {
    const part = parts.find(({ cidr }) => cidrContains(cidr, ip));
    const isHost = part !== undefined && ip.value !== part.cidr.network && ip.value !== lastOf(part.cidr);
    if (!isHost) return `${formatIp(ip)} is not a host address of spec.cidrBlock`;
    if (part.gateway === ip.value) return `${formatIp(ip)} is the physical gateway, spec.gateway`;
  }
  return undefined;
}

/** The problem of the address that the spec requests for the router of the VPC. */
export function u2oAddressProblem(spec: SubnetSpec, parts: readonly FamilyNet[]): Problem | undefined {
  const { u2oInterconnectionIP: text } = spec;
  const flaw = text === '' || routingOf(spec) !== 'u2o' ? undefined : flawOf(text, parts);
  if (flaw === undefined) return undefined;
  return { code: 'U2OInvalid', message: `spec.u2oInterconnectionIP: ${flaw}: use a free one, or none` };
}

/** A sentence about fields that are set without effect. The rest of the spec is in force. */
export function idleUnderlayFields(spec: SubnetSpec): string | undefined {
  const routing = routingOf(spec);
  const isPhysical = routing === 'physical' || routing === 'u2o' || routing === 'nodes';
  const router = 'the gateway of this subnet is a router of the physical network';
  const sentences = [
    [routing === 'overlay' && spec.u2oInterconnection, 'u2oInterconnection', 'it needs spec.vlan'],
    [routing === 'overlay' && spec.overlayOnlyRouting, 'u2oFeatures.overlayOnlyRouting', 'it needs spec.vlan'],
    [routing !== 'u2o' && spec.u2oInterconnectionIP !== '', 'u2oInterconnectionIP', 'it needs spec.u2oInterconnection'],
    [isPhysical && spec.natOutgoing, 'natOutgoing', router],
    [!isRouted(routing) && spec.routeTable !== '', 'routeTable', router],
  ] as const;
  const idle = sentences.filter(([isIdle]) => isIdle).map(([, field, why]) => `spec.${field} has no effect: ${why}`);
  return idle.length === 0 ? undefined : idle.join('; ');
}
