import type { BgpInstanceSpec } from '../api/kinds/bgp-instance.ts';
import type { Problem } from '../desired/problem.ts';
import { nodeAddress } from './family.ts';
import type { BgpInstance, Node, BgpState } from './objects.ts';
import { byAge } from './order.ts';
import { matchesSelector } from '../api/label-selector.ts';

/** The local side of BGP on this node. */
export interface WantedInstance {
  readonly name: string;
  readonly asn: number;
  /** An IPv4 address of the node. */
  readonly routerId: string;
  /** -1: gobgpd does not listen. */
  readonly listenPort: number;
  /** Undefined: not offered to peers. */
  readonly restartTimeSeconds: number | undefined;
  readonly drain: BgpInstanceSpec['drain'];
}

export interface InstanceChoice {
  readonly instance: WantedInstance | undefined;
  readonly problems: ReadonlyMap<string, Problem>;
}

/** Chooses the oldest instance that selects the node; all other selecting instances and all unusable instances get a problem. */
export function chooseInstance(state: BgpState): InstanceChoice {
  const problems = new Map<string, Problem>();
  for (const { name, spec } of state.instances.values()) if ('problem' in spec) problems.set(name, spec.problem);
  const node = state.nodes.get(state.node);
  const [winner, ...losers] = [...state.instances.values()]
    .filter((each) => isInstanceSelecting(each, node))
    .toSorted(byAge);
  for (const loser of losers) problems.set(loser.name, conflict(state.node, winner?.name ?? ''));
  return { instance: winner && instanceOf(state, winner, problems), problems };
}

/** The instances by node name. */
export function instancesByNode(state: BgpState): ReadonlyMap<string, string> {
  const oldestFirst = [...state.instances.values()].toSorted(byAge);
  const winners = new Map<string, string>();
  for (const node of state.nodes.values()) {
    const winner = oldestFirst.find((instance) => isInstanceSelecting(instance, node));
    if (winner) winners.set(node.name, winner.name);
  }
  return winners;
}

/** Whether the instance's selector selects the node, even if another instance has the node. */
export function isInstanceSelecting({ spec }: BgpInstance, node: Node | undefined): boolean {
  return node !== undefined && 'value' in spec && matchesSelector(spec.value.nodeSelector, node.labels);
}

/** Whether the node can have an instance at all. */
export function hasRouterId(node: Node | undefined): boolean {
  return nodeAddress(node, 'ipv4') !== undefined;
}

function instanceOf(
  state: BgpState,
  { name, spec }: BgpInstance,
  problems: Map<string, Problem>,
): WantedInstance | undefined {
  if ('problem' in spec) return undefined;
  const routerId = nodeAddress(state.nodes.get(state.node), 'ipv4');
  if (routerId === undefined) {
    problems.set(name, {
      code: 'NoRouterID',
      message: `node ${state.node} has no IPv4 InternalIP to take the router ID from; give the node one`,
    });
    return undefined;
  }
  const { localASN, listenPort, gracefulRestart, drain } = spec.value;
  return {
    name,
    asn: localASN,
    routerId,
    listenPort,
    restartTimeSeconds: gracefulRestart.enabled ? gracefulRestart.restartTimeSeconds : undefined,
    drain,
  };
}

function conflict(node: string, winner: string): Problem {
  return {
    code: 'Conflicting',
    message: `node ${node} is already selected by the older BgpInstance ${winner}; make the nodeSelectors of the two disjoint`,
  };
}
