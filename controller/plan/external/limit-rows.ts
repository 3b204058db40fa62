/**
 * Limits of bandwidth as rows of OVN, and what statuses say of them. The switch of the Subnet outside has them: there packets have addresses outside,
 * and the port to the router tells the VPC. Rule: a packet meets one meter in each direction, that of the row with the highest priority.
 */
import { label, switchRouterPort } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { OvnEip, VpcNatGateway } from '../../model/external-objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { eipLimits, gatewayLimits, type Limit, type LimitVerdict } from '../../settle/external/limits.ts';
import { natGatewayProblem } from '../../settle/external/nat-gateways.ts';
import { matchFamily, vendorIds } from '../names.ts';
import { servedPort } from './gateway-port.ts';

/** In OVN the highest priority wins, in a QoSPolicy the lowest number. Each number is two priorities: that of an address, and below it that of a gateway. */
const prioritiesOf = { address: 32_767, gateway: 32_766 } as const;

const longestLabel = 63;

interface Place {
  readonly vpc: string;
  readonly subnet: string;
  readonly key: string;
  /** The highest priority. */
  readonly highest: number;
  /** The only address that is limited. */
  readonly address?: string;
}

function matchOf({ vpc, subnet, address }: Place, { direction, only }: Limit): string {
  const isIngress = direction === 'ingress';
  const port = `${isIngress ? 'outport' : 'inport'} == "${switchRouterPort(subnet, vpc)}"`;
  const own = address === undefined ? [] : [`ip4.${isIngress ? 'dst' : 'src'} == ${address}`];
  const part = only === undefined ? [] : [`${matchFamily(only.cidr.family)}.${only.side} == ${formatCidr(only.cidr)}`];
  const packets = [...own, ...part];
  return [port, ...(packets.length === 0 ? ['ip'] : packets)].join(' && ');
}

function rowsOf(limits: readonly Limit[], place: Place): readonly DesiredRow[] {
  return limits.map((limit) => ({
    table: 'QoS',
    key: `${place.key}/${limit.name}`,
    columns: {
      priority: place.highest - 2 * limit.priority,
      direction: limit.direction === 'ingress' ? 'to-lport' : 'from-lport',
      match: matchOf(place, limit),
      bandwidth: { rate: limit.rate, burst: limit.burst },
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Switch', key: place.subnet, column: 'qos_rules' },
  }));
}

/** The limits of an IptablesEIP, whether a rule uses it already or not. */
export function eipLimitRows(view: View, eip: OvnEip): readonly DesiredRow[] {
  const verdict = eipLimits(view, eip);
  const gateway = view.vpcNatGateways.get(eip.spec.natGateway ?? '');
  const allocation = view.allocation(eipPort(eip.id));
  if (verdict === undefined || 'problem' in verdict || gateway === undefined || allocation?.v4 === undefined) return [];
  if (natGatewayProblem(view, gateway) !== undefined) return [];
  const { vpc } = gateway.spec;
  const { subnet, v4: address } = allocation;
  return rowsOf(verdict.limits, { vpc, subnet, key: `limit/${eip.id}`, highest: prioritiesOf.address, address });
}

/** The limits of all traffic of a VpcNatGateway: at each of its ports. */
export function gatewayLimitRows(view: View, gateway: VpcNatGateway): readonly DesiredRow[] {
  const verdict = gatewayLimits(view, gateway);
  if (verdict === undefined || 'problem' in verdict || natGatewayProblem(view, gateway) !== undefined) return [];
  const { name, spec } = gateway;
  const subnets = spec.externalSubnets.filter((subnet) => servedPort(view, spec.vpc, subnet) !== undefined);
  const highest = prioritiesOf.gateway;
  return subnets.flatMap((subnet) =>
    rowsOf(verdict.limits, { vpc: spec.vpc, subnet, key: `limit/nat-gateway/${name}/${subnet}`, highest }),
  );
}

function policyInForce(policy: string, verdict: LimitVerdict | undefined): string | null {
  return verdict !== undefined && 'limits' in verdict ? policy : null;
}

/** The policy in force, by which a restart knows whose claim of it is the older one. */
export function limitFields(policy: string, verdict: LimitVerdict | undefined): { readonly qosPolicy: string | null } {
  return { qosPolicy: policyInForce(policy, verdict) };
}

export function limitLabels(
  policy: string,
  verdict: LimitVerdict | undefined,
): Readonly<Record<string, string | null>> {
  const name = policyInForce(policy, verdict);
  return { [label.qosPolicy]: name !== null && name.length <= longestLabel ? name : null };
}

/** Fields without effect, and limits that are not in force: everything else works. */
export function unservedProblem(
  unsupported: readonly string[],
  verdict: LimitVerdict | undefined,
): Problem | undefined {
  const limit = verdict !== undefined && 'problem' in verdict ? verdict.problem : undefined;
  const parts = [...(limit === undefined ? [] : [limit.message]), ...unsupported];
  if (parts.length === 0) return undefined;
  return { code: limit?.code ?? 'NotSupported', message: `not served, everything else is: ${parts.join('; ')}` };
}
