/** The part of a Subnet's status about its gateway. `gatewayStatusReads` yields a Subnet for every change of a value read here. */
import { joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Change } from '../../model/change.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Subnet } from '../../model/objects.ts';
import type { Verdict } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { isCentralized, isOfNodes, isThroughNodes, partsOf } from '../../settle/gateway/scope.ts';
import type { WantedEvent } from '../report.ts';
import { egressProblems, sharersOfTable } from './egress.ts';
import { natRuleProblems, statedRules } from './nat-rules.ts';
import type { StatedRule } from './nat-rules.ts';

export interface GatewayStatus {
  /** The node, or with enableEcmp the comma list of nodes, that a centralized gateway leads through; else empty. */
  readonly activateGateway: string;
  readonly natOutgoingPolicyRules: readonly StatedRule[];
}

/** The part of a Subnet's status that is about its gateway. */
export function planGatewayStatus(view: View, name: string): GatewayStatus {
  const subnet = view.subnets.get(name);
  const hops = view.gateways.get(name)?.hops ?? [];
  return {
    activateGateway: hops.map(({ node }) => node).join(','),
    natOutgoingPolicyRules: subnet !== undefined && isThroughNodes(view, subnet) ? statedRules(subnet.spec) : [],
  };
}

/** An event if a centralized gateway uses other nodes than the Subnet's status shows. */
export function gatewayEvents(view: View, name: string): readonly WantedEvent[] {
  const before = view.subnets.get(name)?.status['activateGateway'];
  const { activateGateway: after } = planGatewayStatus(view, name);
  // A new Subnet has no status yet.
  if (!view.gateways.has(name) || typeof before !== 'string' || before === after) return [];
  const [former, current] = [before, after].map((nodes) => nodes.replaceAll(',', ', '));
  const moved =
    former === '' ? `traffic leaves through ${current}` : `traffic leaves through ${current}, no longer ${former}`;
  const message = current === '' ? `no node is left: the last one was ${former}` : moved;
  return [{ type: 'Normal', reason: 'GatewayChanged', message }];
}

/** Problems of a Subnet's gateway, each with its remedy. All other parts of the spec are in force. */
export function gatewayProblems(view: View, name: string): readonly Problem[] {
  const subnet = view.subnets.get(name);
  if (subnet === undefined) return [];
  const { problems = [] } = view.gateways.get(name) ?? {};
  return [...typeProblems(view, subnet), ...problems, ...egressProblems(view, subnet), ...natRuleProblems(subnet.spec)];
}

function typeProblems(view: View, subnet: Subnet): readonly Problem[] {
  const { spec } = subnet;
  const refuse = (code: string, message: string): readonly Problem[] => [{ code, message }];
  if (spec.gatewayType !== '' && spec.gatewayType !== 'distributed' && !isCentralized(spec))
    return refuse(
      'GatewayTypeInvalid',
      `spec.gatewayType '${spec.gatewayType}' is neither distributed nor centralized; distributed is in force`,
    );
  if (!isCentralized(spec)) return [];
  if (!isThroughNodes(view, subnet)) {
    if (isOfNodes(subnet))
      return refuse(
        'GatewayTypeIgnored',
        'spec.gatewayType centralized has no effect: the gateway of this subnet is a router of the physical network; set spec.logicalGateway to have nodes as gateways, or remove gatewayType',
      );
    const cause = `this one is in Vpc ${vpcNameOf(spec)} and of provider ${spec.provider === '' ? 'ovn' : spec.provider}`;
    return refuse(
      'GatewayTypeIgnored',
      `spec.gatewayType centralized has no effect: nodes are gateways of subnets of provider ovn in Vpc ovn-cluster only, and ${cause}; give the Vpc routes of its own (spec.staticRoutes of the Vpc) and remove gatewayType`,
    );
  }
  const wrong = partsOf(spec.gatewayNode).find(
    (entry) => entry.includes(':') && parseIp(entry.slice(entry.indexOf(':') + 1)) === undefined,
  );
  if (wrong === undefined) return [];
  return refuse(
    'GatewayAddressInvalid',
    `spec.gatewayNode: the part after the node name in '${wrong}' is not an IP address; the address of the node's interface is used`,
  );
}

/** A family whose traffic cannot leave the cluster, because nodes have no addresses of it to be gateways with. */
export function familyWithoutExit(view: View, name: string): string | undefined {
  const subnet = view.subnets.get(name);
  const [net, join] = [view.verdicts.get(name)?.net, view.verdicts.get(joinSubnet)?.net];
  if (subnet === undefined || net === undefined || join === undefined || !isThroughNodes(view, subnet))
    return undefined;
  const family = net.v6 !== undefined && join.v6 === undefined ? 'IPv6' : 'IPv4';
  if (family === 'IPv4' && (net.v4 === undefined || join.v4 !== undefined)) return undefined;
  return `${family} traffic reaches neither nodes nor networks outside of the cluster, because subnet ${joinSubnet} has no ${family} CIDR: add one to its spec.cidrBlock`;
}

/** Subnets of which the above may have become otherwise. */
export function* gatewayStatusReads(change: Change, view: View): Generator<string> {
  if (change.kind === 'gateways' || change.kind === 'subnets' || change.kind === 'verdicts') yield change.name;
  if (
    change.kind === 'verdicts' &&
    change.name === joinSubnet &&
    familiesOf(change.before) !== familiesOf(change.after)
  )
    yield* view.subnets.keys();
  if (change.kind === 'subnets') yield* sharersOfTable(view, change.before, change.after);
}

function familiesOf(verdict: Verdict | undefined): string {
  return `${verdict?.net?.v4 !== undefined} ${verdict?.net?.v6 !== undefined}`;
}
