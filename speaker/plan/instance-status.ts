import type { BgpInstance, BgpState, NodeInstance } from '../../lib/bgp/objects.ts';
import { silenceOf } from '../../lib/bgp/silence.ts';
import type { Observed } from '../model/observed.ts';
import { isInstanceSelecting } from '../../lib/bgp/instance.ts';
import type { SpeakerPlan } from './plan.ts';
import { type PlannedCondition, withOwn } from './planned.ts';

/** This node's entry in an instance that selects it. */
export function instanceEntry(
  state: BgpState,
  plan: SpeakerPlan,
  observed: Observed,
  instance: BgpInstance,
): NodeInstance | undefined {
  if (!isInstanceSelecting(instance, state.nodes.get(state.node))) return undefined;
  const { daemon } = observed;
  const problem = plan.problems.instances.get(instance.name) ?? daemon.problem;
  return {
    node: state.node,
    ready: problem === undefined && daemon.isReachable,
    ...(plan.instance?.name === instance.name && { routerID: plan.instance.routerId }),
    ...(daemon.version !== undefined && { daemonVersion: daemon.version }),
    ...(problem && { reason: problem.code, message: problem.message }),
  };
}

/** Conditions from the entries of all nodes. */
export function instanceSummary(
  state: BgpState,
  instance: BgpInstance,
  own: NodeInstance | undefined,
): {
  readonly leftOver: readonly string[];
  readonly summary: object;
  readonly conditions: readonly PlannedCondition[];
} {
  const selected = new Set(
    [...state.nodes.values()].filter((node) => isInstanceSelecting(instance, node)).map((node) => node.name),
  );
  const entries = withOwn(instance.status.nodes, state.node, own);
  const kept = entries.filter((entry) => selected.has(entry.node)).map((entry) => believed(state, entry));
  return {
    leftOver: entries.filter((entry) => !selected.has(entry.node)).map((entry) => entry.node),
    summary: {},
    conditions: [acceptedCondition(instance, kept), readyCondition(kept, selected.size), outdatedCondition(kept)],
  };
}

function believed(state: BgpState, entry: NodeInstance): NodeInstance {
  const silence = silenceOf(state, entry.node);
  return silence ? { ...entry, ready: false, reason: silence.code, message: silence.message } : entry;
}

function acceptedCondition({ spec }: BgpInstance, entries: readonly NodeInstance[]): PlannedCondition {
  const refused = entries.find((entry) => entry.reason === 'Conflicting' || entry.reason === 'NoRouterID');
  if ('problem' in spec)
    return { type: 'Accepted', status: 'False', reason: spec.problem.code, message: spec.problem.message };
  if (refused)
    return { type: 'Accepted', status: 'False', reason: refused.reason ?? 'Refused', message: refused.message ?? '' };
  return {
    type: 'Accepted',
    status: 'True',
    reason: 'Accepted',
    message: 'the instance is used on all nodes it selects',
  };
}

function readyCondition(entries: readonly NodeInstance[], selected: number): PlannedCondition {
  const ready = entries.filter((entry) => entry.ready).length;
  const failing = entries.find((entry) => !entry.ready);
  const message = `${ready}/${selected} nodes${failing?.message ? `; ${failing.node}: ${failing.message}` : ''}`;
  if (selected === 0)
    return { type: 'Ready', status: 'False', reason: 'NoNode', message: 'no node has the labels of nodeSelector' };
  if (ready === selected) return { type: 'Ready', status: 'True', reason: 'Ready', message };
  return { type: 'Ready', status: 'False', reason: failing?.reason ?? 'SpeakerMissing', message };
}

/** gobgpd 3 crashes on a single malformed message of a neighbour, so it works but is degraded. */
function outdatedCondition(entries: readonly NodeInstance[]): PlannedCondition {
  const outdated = entries.filter((entry) => entry.daemonVersion === '3.x').map((entry) => entry.node);
  if (outdated.length === 0)
    return { type: 'DaemonOutdated', status: 'False', reason: 'Current', message: 'gobgpd is 4.x on all nodes' };
  return {
    type: 'DaemonOutdated',
    status: 'True',
    reason: 'DaemonOutdated',
    message: `gobgpd is 3.x on ${outdated.join(', ')}; some malformed messages of a neighbour make it end; install 4.4 or newer`,
  };
}
