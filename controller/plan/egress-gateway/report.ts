/** The status of a VpcEgressGateway. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { VpcEgressGateway } from '../../model/egress-gateway.ts';
import { egressPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { obstacleConditions } from '../conditions.ts';
import { failure, refusalEvents } from '../events.ts';
import { withoutFormer } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, StatusReport, WantedCondition } from '../report.ts';
import { servedGateway } from './served.ts';

const localCondition = 'TrafficPolicyLocal';

/** Addresses of the ports, in their order. */
function externalIPs(view: View, key: string, { spec }: VpcEgressGateway): readonly string[] {
  const texts = Array.from({ length: spec.replicas }, (_, index) => {
    const { v4, v6 } = view.allocation(egressPort(key, index)) ?? {};
    return [v4, v6].filter((text) => text !== undefined).join(',');
  });
  return texts.slice(0, texts.findLastIndex((text) => text !== '') + 1);
}

function localConditions({ spec, generation }: VpcEgressGateway): readonly WantedCondition[] {
  if (!spec.isLocal) return [];
  const message =
    'ports are chosen by connection, not by the node of the pod: spec.trafficPolicy Local is served as Cluster';
  return [
    { type: localCondition, status: 'False', reason: 'ServedAsCluster', message, observedGeneration: generation },
  ];
}

function statusOf(view: View, key: string, gateway: VpcEgressGateway, outcome: Outcome): StatusReport {
  const verdict = view.egressGateways.get(key);
  const served = servedGateway(view, key);
  const addresses = externalIPs(view, key, gateway);
  const obstacle: Problem | undefined =
    refusalOf(outcome) ?? verdict?.obstacle ?? view.addressProblem(`egress-gateway/${key}`) ?? verdict?.lack;
  const conditions = obstacleConditions(gateway.generation, verdict?.refusal, obstacle, 'VpcEgressGatewayReady');
  const isReady = served !== undefined && obstacle === undefined;
  const nodes = served?.served.flatMap(({ nodes: [first] }) => (first === undefined ? [] : [first.node])) ?? [];
  const before = gateway.conditions.find(({ type }) => type === 'Ready');
  const isNew = verdict?.refusal === undefined && obstacle !== undefined && before?.message !== obstacle.message;
  return {
    fields: {
      ready: isReady,
      phase: isReady ? 'Completed' : addresses.length > 0 ? 'Processing' : 'Pending',
      replicas: served?.served.length ?? 0,
      labelSelector: '',
      internalIPs: verdict?.link.map(({ far }) => far) ?? [],
      externalIPs: addresses,
      workload: { nodes },
    },
    conditions: [...conditions, ...localConditions(gateway)],
    ...(gateway.spec.isLocal ? {} : { absentConditions: [localCondition] }),
    events: [
      ...refusalEvents('ValidateVpcEgressGatewayFailed', conditions, gateway.conditions),
      ...(isNew ? [failure('VpcEgressGatewayNotReady', obstacle)] : []),
    ],
  };
}

export function reportGateway(view: View, key: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'vpcEgressGateways', name: key } as const;
  const gateway = view.vpcEgressGateways.get(key);
  if (gateway === undefined) return [{ object }];
  const finalizers = withoutFormer(gateway.finalizers);
  if (gateway.isDeleting) return [{ object, finalizers }];
  return [{ object, finalizers, status: statusOf(view, key, gateway, outcome) }];
}
