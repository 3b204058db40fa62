import { defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Vpc } from '../../model/objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import { configProblems, isExternal } from '../../settle/external/external-config.ts';
import { gatewayPortName, gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { peeringsOf } from '../../settle/vpc/judge-peerings.ts';
import { hasRouter, subnetsOf } from '../../settle/vpc/routers.ts';
import { readStaticRoutes } from '../../settle/vpc/static-routes.ts';
import { obstacleConditions } from '../conditions.ts';
import { holderText, shownHolder } from '../external/holder.ts';
import type { WantedCondition } from '../report.ts';
import type { View } from '../../model/view.ts';
import { defaultSubnetOf, defaultSubnetProblem } from '../../settle/vpc/default-subnet.ts';
import { planLoadBalancerStatus } from './load-balancers.ts';
import { namespaceProblems, namespacesHeld } from './namespaces.ts';
import { readPolicyRoutes, unreachablePolicies } from './policy-routes.ts';
import { unreachableRoutes } from './static-routes.ts';

/** A message names at most this many problems. */
const namedProblems = 5;

/** Problems of the parts of a Vpc's spec that cannot be served. All other parts are served. */
export function vpcProblems(view: View, vpc: Vpc): readonly Problem[] {
  const fields = vpc.unsupported.map((field) => `spec.${field}`).join(', ');
  const message = `${fields} cannot be served by this release: remove it`;
  const subnet = defaultSubnetProblem(view, vpc);
  return [
    ...(fields === '' ? [] : [{ code: 'NotSupported', message }]),
    ...idleExternal(view, vpc),
    ...(vpc.name === defaultVpc ? configProblems(view) : []),
    ...readStaticRoutes(vpc.spec).problems,
    ...readPolicyRoutes(vpc.spec).problems,
    ...peeringsOf(view, vpc.name).flatMap(({ problem, isWaiting }) =>
      problem === undefined || isWaiting ? [] : [problem],
    ),
    ...(subnet === undefined || subnet.isWaiting ? [] : [subnet.problem]),
    ...namespaceProblems(view, vpc),
  ];
}

/** Ports outside that the router does not have. */
function outsideProblems(view: View, vpc: string): readonly Problem[] {
  return gatewayPortsOf(view, vpc).flatMap((port): readonly Problem[] => {
    const key = eipPort(gatewayPortName(port));
    const address = port.isPlaced && view.allocation(key) === undefined ? view.addressProblem(key) : undefined;
    const problem = port.problem ?? address;
    return problem === undefined ? [] : [problem];
  });
}

/** Subnets outside without the switch that connects them. */
function idleExternal(view: View, vpc: Vpc): readonly Problem[] {
  const { spec } = vpc;
  if (isExternal(view, vpc) || spec.extraExternalSubnets.length === 0) return [];
  const message =
    'spec.extraExternalSubnets has an effect with spec.enableExternal only: set it to true, or remove the list';
  return [{ code: 'ExternalDisabled', message }];
}

/** Problems that resolve when other objects change. */
function waitingFor(view: View, vpc: Vpc): readonly Problem[] {
  const subnet = defaultSubnetProblem(view, vpc);
  return [
    ...peeringsOf(view, vpc.name).flatMap(({ problem, isWaiting }) =>
      problem !== undefined && isWaiting ? [problem] : [],
    ),
    ...outsideProblems(view, vpc.name),
    ...unreachableRoutes(view, vpc.name),
    ...unreachablePolicies(view, vpc.name),
    ...(subnet?.isWaiting === true ? [subnet.problem] : []),
  ];
}

/** Several problems as one: the code of the first, the sentences of all. */
function joined(problems: readonly Problem[]): Problem | undefined {
  const [first] = problems;
  if (first === undefined) return undefined;
  const rest = problems.length > namedProblems ? [`and ${problems.length - namedProblems} more`] : [];
  const sentences = problems.slice(0, namedProblems).map(({ message }) => message);
  return { code: first.code, message: [...sentences, ...rest].join('; ') };
}

function deletion(view: View, { name, isDeleting }: Vpc): readonly Problem[] {
  const subnets = isDeleting ? subnetsOf(view, name) : [];
  const message = `waits for the deletion of subnets ${subnets.join(', ')}`;
  return subnets.length === 0 ? [] : [{ code: 'Deleting', message }];
}

/** Conditions of a Vpc. `refused` is the database error for its rows. */
export function planVpcConditions(view: View, vpc: Vpc, refused: Problem | undefined): readonly WantedCondition[] {
  const problems = vpcProblems(view, vpc);
  const others = [...(refused === undefined ? [] : [refused]), ...waitingFor(view, vpc)];
  const conditions = (problem: Problem | undefined): readonly WantedCondition[] =>
    obstacleConditions(vpc.generation, problem, undefined, 'LogicalRouterReady');
  const [validated, ready] = [
    conditions(joined(problems))[0],
    conditions(joined([...deletion(view, vpc), ...problems, ...others]))[1],
  ];
  return [validated, ready].filter((one) => one !== undefined);
}

/** Status of a Vpc besides conditions. */
export interface VpcStatus extends Readonly<Record<string, unknown>> {
  /** Null where there is none. */
  readonly namespaces: readonly string[] | null;
  /** Peers whose link is in force. */
  readonly vpcPeerings: readonly string[];
}

/** Which node has each port outside; nothing for the many VPCs that never had one. */
function externalGateways(view: View, { name, status }: Vpc): { readonly externalGateways?: readonly object[] | null } {
  const shown: unknown = status['externalGateways'];
  const known = Array.isArray(shown) ? (shown as readonly Readonly<Record<string, unknown>>[]) : [];
  const ports = gatewayPortsOf(view, name).filter(({ problem }) => problem === undefined);
  const entries = ports.map((port) => {
    const { subnet, nodes } = port;
    const before = known.find((one) => one['subnet'] === subnet);
    const { node, since } = holderText(view, port, shownHolder(before?.['node'], before?.['since']));
    return { subnet, ...(node === '' ? {} : { node, since }), nodes: nodes.map((one) => one.node) };
  });
  if (entries.length > 0) return { externalGateways: entries };
  return status['externalGateways'] === undefined ? {} : { externalGateways: null };
}

export function planVpcStatus(view: View, vpc: Vpc): VpcStatus {
  const { name } = vpc;
  const wanted = defaultSubnetOf(view, vpc);
  const namespaces = namespacesHeld(view, vpc);
  const outside = gatewayPortsOf(view, name).flatMap(({ subnet, problem }) => (problem === undefined ? [subnet] : []));
  const extra = outside.filter((subnet) => vpc.spec.extraExternalSubnets.includes(subnet));
  return {
    standby: hasRouter(view, name),
    default: name === defaultVpc,
    defaultLogicalSwitch: wanted !== undefined && view.subnets.has(wanted) ? wanted : '',
    router: name,
    ...planLoadBalancerStatus(view, name),
    subnets: subnetsOf(view, name),
    namespaces: namespaces.length === 0 ? null : namespaces,
    vpcPeerings: peeringsOf(view, name).flatMap(({ remote, link }) => (link === undefined ? [] : [remote])),
    enableExternal: outside.length > 0,
    extraExternalSubnets: extra.length === 0 ? null : extra,
    ...externalGateways(view, vpc),
    enableBfd: gatewayPortsOf(view, name).some(({ upstreams }) => upstreams.length > 0),
  };
}
