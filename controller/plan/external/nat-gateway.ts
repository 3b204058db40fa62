/**
 * VpcNatGateways. In: such an object, the ports outside of the router of its VPC, and the addresses that it has. Out: its status, and the limits of
 * these ports. All other rows are those of the ports and of the rules: no pod is made.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import type { Change } from '../../model/change.ts';
import type { VpcNatGateway } from '../../model/external-objects.ts';
import { eipPort, natGatewayPort } from '../../model/ovn-names.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortKey, gatewayPortName, splitsOf } from '../../settle/external/external-subnets.ts';
import { gatewayLimits, limitsReading } from '../../settle/external/limits.ts';
import { natGatewayProblem, natGatewaysReading } from '../../settle/external/nat-gateways.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { flawConditions } from '../conditions.ts';
import { failure, refusalEvents } from '../events.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { finalizersWhile } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, StatusReport } from '../report.ts';
import { portAt, servedPort } from './gateway-port.ts';
import { gatewayLimitRows, limitFields, limitLabels, unservedProblem } from './limit-rows.ts';

/** At most so many addresses are named in a message. */
const namedEips = 5;

function portsOf(view: View, { spec }: VpcNatGateway): readonly GatewayPort[] {
  return spec.externalSubnets.flatMap((subnet) => view.gatewayPorts.get(gatewayPortKey(spec.vpc, subnet)) ?? []);
}

/** Why the router is not connected with one of the Subnets outside. */
function portProblem(view: View, gateway: VpcNatGateway): Problem | undefined {
  const { vpc } = gateway.spec;
  if (!hasRouter(view, vpc)) {
    const message = `spec.vpc: Vpc ${vpc} is being deleted, and its router is gone: delete the VpcNatGateway, or create the Vpc again`;
    return { code: 'VpcNotFound', message };
  }
  for (const port of portsOf(view, gateway)) {
    const key = eipPort(gatewayPortName(port));
    const missing = view.allocation(key) === undefined ? view.addressProblem(key) : undefined;
    const problem = port.problem ?? missing;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function deletionOf(gateway: VpcNatGateway, eips: readonly string[]): Problem | undefined {
  if (!gateway.isDeleting || eips.length === 0) return undefined;
  const rest = eips.length > namedEips ? ` and ${eips.length - namedEips} more` : '';
  const names = eips.slice(0, namedEips).map((name) => `IptablesEIP ${name}`);
  return { code: 'Deleting', message: `waits for the deletion of ${names.join(', ')}${rest}` };
}

function statusOf(
  view: View,
  gateway: VpcNatGateway,
  eips: readonly string[],
  refused: Problem | undefined,
): StatusReport {
  const { spec, unsupported, generation, conditions: known } = gateway;
  const limits = gatewayLimits(view, gateway);
  const cause = natGatewayProblem(view, gateway) ?? portProblem(view, gateway) ?? refused;
  const obstacle = deletionOf(gateway, eips) ?? cause;
  const flaw = unservedProblem(unsupported, limits);
  // A field for the pod does not keep the gateway from working.
  const conditions = flawConditions(generation, { refusal: undefined, unserved: flaw, obstacle }, 'VpcNatGatewayReady');
  const served = spec.externalSubnets.filter((subnet) => servedPort(view, spec.vpc, subnet) !== undefined);
  const ports = portsOf(view, gateway);
  const nodes = [...new Set(ports.flatMap((port) => port.nodes.map(({ node }) => node)))];
  const was = known.find(({ type }) => type === 'Ready');
  const isNew = cause !== undefined && was?.message !== cause.message && obstacle === cause;
  return {
    fields: {
      ready: cause === undefined,
      lanIp: view.allocation(natGatewayPort(gateway.name)) === undefined ? '' : spec.lanIp,
      externalSubnets: served,
      replicas: nodes.length,
      ...limitFields(spec.qosPolicy, limits),
      workload: { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', name: spec.vpc, nodes },
    },
    conditions,
    events: [
      ...refusalEvents('ValidateVpcNatGatewayFailed', conditions, known),
      ...(isNew ? [failure('VpcNatGatewayNotReady', cause)] : []),
    ],
  };
}

function planNatGateway(view: View, name: string): Desired {
  const gateway = view.vpcNatGateways.get(name);
  return gateway === undefined ? nothing : { rows: gatewayLimitRows(view, gateway), createdMs: gateway.createdMs };
}

function reportNatGateway(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'vpcNatGateways', name } as const;
  const gateway = view.vpcNatGateways.get(name);
  if (gateway === undefined) return [{ object }];
  const eips = [...view.indexes.eipsByNatGateway.of(name)].sort();
  const finalizers = finalizersWhile(eips.length > 0, gateway);
  const labels = limitLabels(gateway.spec.qosPolicy, gatewayLimits(view, gateway));
  return [{ object, finalizers, labels, status: statusOf(view, gateway, eips, refusalOf(outcome)) }];
}

function* gatewaysOf(change: Change, view: View): Generator<string> {
  yield* natGatewaysReading(change, view);
  yield* limitsReading(change, view, 'vpcNatGateways');
  const { kind, name } = change;
  if (kind === 'iptablesEips') yield* [change.before, change.after].map((eip) => eip?.spec.natGateway ?? '');
  // Its router is gone with the last Subnet, if it is being deleted.
  else if (kind === 'vpcs') yield* view.indexes.natGatewaysByVpc.of(name);
  else if (kind === 'gatewayPorts') yield* view.indexes.natGatewaysByVpc.of(portAt(name).vpc);
  else if (kind === 'ports' && name.startsWith('eip/')) {
    const eip = name.slice('eip/'.length);
    for (const [vpc] of splitsOf(eip)) yield* view.indexes.natGatewaysByVpc.of(vpc);
  }
}

/** Keys: the name of the VpcNatGateway. */
export const natGatewayFeature: Feature = {
  name: 'nat-gateway',
  all: (view) => view.vpcNatGateways.keys(),
  reads: (change, view) => new Set([...gatewaysOf(change, view)].filter((name) => name !== '')),
  plan: planNatGateway,
  report: reportNatGateway,
};
