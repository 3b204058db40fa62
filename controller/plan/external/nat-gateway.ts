/**
 * VpcNatGateways. In: such an object, the ports outside of the router of its VPC, and the addresses that it has. Out: its status. Its
 * rows are those of the ports and of the rules: no pod is made.
 */
import { controllerFinalizer } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Change } from '../../model/change.ts';
import type { VpcNatGateway } from '../../model/external-objects.ts';
import { eipPort, natGatewayPort } from '../../model/ovn-names.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortKey, gatewayPortName, splitsOf } from '../../settle/external/external-subnets.ts';
import { natGatewayProblem, natGatewaysReading } from '../../settle/external/nat-gateways.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { flawConditions } from '../conditions.ts';
import { failure, refusalEvents } from '../events.ts';
import type { Feature } from '../feature.ts';
import { foreignFinalizers } from '../finalizers.ts';
import type { ObjectReport, StatusReport } from '../report.ts';
import { portAt, servedPort } from './gateway-port.ts';

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

function statusOf(view: View, gateway: VpcNatGateway, eips: readonly string[]): StatusReport {
  const { spec, unsupported, generation, conditions: known } = gateway;
  const cause = natGatewayProblem(view, gateway) ?? portProblem(view, gateway);
  const obstacle = deletionOf(gateway, eips) ?? cause;
  const flaw: Problem | undefined =
    unsupported.length === 0
      ? undefined
      : { code: 'NotSupported', message: `not served, everything else is: ${unsupported.join('; ')}` };
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
      workload: { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', name: spec.vpc, nodes },
    },
    conditions,
    events: [
      ...refusalEvents('ValidateVpcNatGatewayFailed', conditions, known),
      ...(isNew ? [failure('VpcNatGatewayNotReady', cause)] : []),
    ],
  };
}

function finalizersOf({ finalizers, isDeleting }: VpcNatGateway, isNeeded: boolean): readonly string[] {
  const others = foreignFinalizers(finalizers);
  // The API server refuses new finalizers on an object that is being deleted.
  const isKept = isNeeded && (!isDeleting || finalizers.includes(controllerFinalizer));
  return isKept ? [...others, controllerFinalizer] : others;
}

function reportNatGateway(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'vpcNatGateways', name } as const;
  const gateway = view.vpcNatGateways.get(name);
  if (gateway === undefined) return [{ object }];
  const eips = [...view.indexes.eipsByNatGateway.of(name)].sort();
  return [{ object, finalizers: finalizersOf(gateway, eips.length > 0), status: statusOf(view, gateway, eips) }];
}

function* gatewaysOf(change: Change, view: View): Generator<string> {
  yield* natGatewaysReading(change, view);
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
  report: reportNatGateway,
};
