import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Node, SubnetSpec } from '../../model/objects.ts';
import type { GatewayHop, GatewayChoice } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { joinAllocation } from '../node/join.ts';
import { isCentralized, isThroughNodes, partsOf } from './scope.ts';

interface Candidate {
  readonly name: string;
  readonly hop: GatewayHop | undefined;
  /** Why it is not to be used while another can be. */
  readonly obstacle: string | undefined;
}

/** A message names at most this many nodes. */
const namedNodes = 5;

/** Node names of `gatewayNode`, in order; each entry is `node` or `node:address`. */
export function gatewayNodeNames({ gatewayNode }: SubnetSpec): readonly string[] {
  return [...new Set(partsOf(gatewayNode).map((entry) => entry.split(':', 1)[0] ?? ''))];
}

function candidateNames(view: View, spec: SubnetSpec): readonly string[] {
  const named = gatewayNodeNames(spec);
  if (named.length > 0) return named;
  const { gatewayNodeSelectors: selectors } = spec;
  const matching = [...view.nodes.values()].filter(({ labels }) =>
    selectors.some((one) => matchesSelector(one, labels)),
  );
  return matching.map(({ name }) => name).sort();
}

/** Why a node is not to be used while another can be. */
export function obstacleOf(view: View, node: Node): string | undefined {
  if (!node.isReady) return 'is not Ready, or its network is unavailable';
  const chassis = node.annotations[annotation.chassis] ?? '';
  if (chassis === '' || view.chassis === undefined || view.chassis.has(chassis)) return undefined;
  return `has no chassis ${chassis} in the southbound database`;
}

function candidateOf(view: View, name: string): Candidate {
  const node = view.nodes.get(name);
  if (node === undefined) return { name, hop: undefined, obstacle: 'does not exist' };
  const { v4, v6 } = joinAllocation(view, name) ?? {};
  if (v4 === undefined && v6 === undefined)
    return { name, hop: undefined, obstacle: 'has no address in subnet join yet' };
  const hop = { node: name, ...(v4 === undefined ? {} : { v4 }), ...(v6 === undefined ? {} : { v6 }) };
  return { name, hop, obstacle: obstacleOf(view, node) };
}

/** Nodes in use take precedence over other usable nodes. */
function chosenOf(candidates: readonly Candidate[], isEcmp: boolean, last: readonly string[]): readonly GatewayHop[] {
  const reachable = candidates.filter(({ hop }) => hop !== undefined);
  const healthy = reachable.filter(({ obstacle }) => obstacle === undefined);
  const wasUsed = ({ name }: Candidate): boolean => last.includes(name);
  // If no node is healthy, the last ones may still forward. Without any node, packets would certainly be lost.
  const pool = healthy.length > 0 ? healthy : reachable;
  const kept = pool.filter(wasUsed);
  if (isEcmp && healthy.length > 0) return hopsOf(healthy);
  const preferred = kept.length > 0 ? kept : pool;
  return hopsOf(isEcmp ? preferred : preferred.slice(0, 1));
}

function hopsOf(candidates: readonly Candidate[]): readonly GatewayHop[] {
  return candidates.flatMap(({ hop }) => hop ?? []);
}

function problemsOf(
  spec: SubnetSpec,
  candidates: readonly Candidate[],
  hops: readonly GatewayHop[],
): readonly Problem[] {
  const isByName = gatewayNodeNames(spec).length > 0;
  if (candidates.length === 0) {
    const message =
      spec.gatewayNodeSelectors.length === 0
        ? 'spec.gatewayType centralized needs nodes: name them in spec.gatewayNode or in spec.gatewayNodeSelectors'
        : 'spec.gatewayNodeSelectors match no node: label one, or correct the selectors';
    return [{ code: spec.gatewayNodeSelectors.length === 0 ? 'GatewayNodeMissing' : 'GatewayNodeNotFound', message }];
  }
  const unknown = candidates.filter(({ obstacle }) => obstacle === 'does not exist').map(({ name }) => name);
  const problems: Problem[] = [];
  if (unknown.length > 0) {
    const message = `spec.gatewayNode names ${unknown.join(', ')}, which is not a node: correct the name, or add the node`;
    problems.push({ code: 'GatewayNodeNotFound', message });
  }
  if (unknown.length === candidates.length || candidates.some(({ obstacle }) => obstacle === undefined))
    return problems;
  const rest = candidates.length > namedNodes ? ` and ${candidates.length - namedNodes} more` : '';
  const states = candidates.slice(0, namedNodes).map(({ name, obstacle }) => `${name} ${obstacle}`);
  const effect =
    hops.length === 0 ? 'no traffic leaves the cluster' : `traffic still goes to ${namesOf(hops).join(', ')}`;
  const field = isByName ? 'spec.gatewayNode' : 'spec.gatewayNodeSelectors';
  const message = `no gateway node is healthy (${states.join('; ')}${rest}): ${effect}; repair one, or name another in ${field}`;
  return [...problems, { code: 'GatewayNotReady', message }];
}

function namesOf(hops: readonly GatewayHop[]): readonly string[] {
  return hops.map(({ node }) => node);
}

/**
 * Which nodes a subnet's centralized gateway leads through; undefined if it has none. `last` are those it led through
 * before: one that is healthy stays, so that a node that comes back takes nothing from another.
 */
export function chooseGateways(view: View, name: string, last: readonly string[]): GatewayChoice | undefined {
  const subnet = view.subnets.get(name);
  if (subnet === undefined || !isCentralized(subnet.spec) || !isThroughNodes(view, subnet)) return undefined;
  const candidates = candidateNames(view, subnet.spec).map((node) => candidateOf(view, node));
  const hops = chosenOf(candidates, subnet.spec.enableEcmp, last);
  return { hops, problems: problemsOf(subnet.spec, candidates, hops) };
}

/** The properties of a node that a choice depends on, besides its port. Equal texts mean equal choices. */
export function healthText(node: Node | undefined): string {
  return node === undefined
    ? ''
    : JSON.stringify([node.isReady, node.labels, node.annotations[annotation.chassis] ?? '']);
}
