/**
 * The status of ProviderNetworks: which nodes have the network, as the daemons report in labels and annotations of their
 * Nodes. There are no rows: the ports of switches only name the network.
 */
import { providerNetworkKey } from '../../../lib/api/names.ts';
import { providerNode } from '../../../lib/api/provider-nodes.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Node, ProviderNetwork } from '../../model/objects.ts';
import type { Feature } from '../feature.ts';
import type { View } from '../../model/view.ts';
import type { ObjectReport, WantedCondition } from '../report.ts';
import { finalizersWhile } from '../finalizers.ts';
import { readinessEvents } from './report.ts';
import { subnetsIn, waitsFor } from './vlan.ts';

/** The schema's bounds. */
const mostNodes = 1000;
/** At most so many nodes are named in a message. */
const namedNodes = 5;

interface NodeState {
  readonly node: string;
  /** Why it does not have the network, or not yet. */
  readonly problem: Problem | undefined;
  readonly message: string;
}

/** `Code: sentence`, as daemons write it. */
function parseError(text: string): Problem {
  const [, code, message] = /^(\w+): (.+)$/s.exec(text) ?? [];
  return code === undefined || message === undefined
    ? { code: 'NodeNotReady', message: text || 'the daemon of the node reports no reason: see its log' }
    : { code, message };
}

function obstacleOf({ name, isDryRun }: ProviderNetwork, node: Node): Problem | undefined {
  const key = (of: 'ready' | 'plan' | 'err_mesg'): string => providerNetworkKey(name, of);
  const ready = node.labels[key('ready')];
  if (ready === 'true') return undefined;
  const [plan, error] = [node.annotations[key('plan')], node.annotations[key('err_mesg')]];
  if (ready === 'false' && error !== undefined) return parseError(error);
  if (isDryRun && plan !== undefined) return { code: 'DryRun', message: plan };
  if (ready === 'false') return parseError('');
  const message = 'the daemon has not reported yet that the interface is joined: check that it runs on the node';
  return { code: 'Pending', message };
}

function stateOf(network: ProviderNetwork, node: Node): NodeState {
  const problem = obstacleOf(network, node);
  const { [providerNetworkKey(network.name, 'interface')]: nic, [providerNetworkKey(network.name, 'mtu')]: mtu } =
    node.labels;
  const facts = [nic === undefined ? '' : `interface ${nic}`, mtu === undefined ? '' : `MTU ${mtu}`];
  return { node: node.name, problem, message: problem?.message ?? facts.filter(Boolean).join(', ') };
}

/** Nodes that are to have the network, by name. */
function statesOf(view: View, network: ProviderNetwork): readonly NodeState[] {
  const nodes = [...view.nodes.values()].filter((node) => 'interface' in providerNode({ network, node }));
  const states = nodes.map((node) => stateOf(network, node));
  return states.sort((a, b) => (a.node < b.node ? -1 : 1));
}

export function vlansOf(view: View, network: string): readonly string[] {
  const vlans = [...view.vlans.values()].filter(({ spec }) => spec.provider === network);
  return vlans.map(({ name }) => name).toSorted();
}

/** Which of these Vlans it must not be taken from, and subnets that are in it although they are in none of them. */
function needsOf(
  view: View,
  network: string,
): { readonly vlans: readonly string[]; readonly strays: readonly string[] } {
  const vlans = vlansOf(view, network).filter((vlan) => subnetsIn(view, vlan).length > 0);
  const named = new Set(vlans.flatMap((vlan) => subnetsIn(view, vlan)));
  const inside = [...view.subnetsInVlans].filter(
    (name) => view.verdicts.get(name)?.net?.underlay?.provider === network,
  );
  return { vlans, strays: inside.filter((name) => !named.has(name)).toSorted() };
}

export function isNeeded(view: View, network: string): boolean {
  const { vlans, strays } = needsOf(view, network);
  return vlans.length + strays.length > 0;
}

function deletionOf(view: View, { name, isDeleting }: ProviderNetwork): Problem | undefined {
  if (!isDeleting) return undefined;
  const { vlans, strays } = needsOf(view, name);
  if (vlans.length > 0) return waitsFor('vlans', vlans);
  return strays.length > 0 ? waitsFor('subnets', strays) : undefined;
}

/** Several nodes' reasons as one. */
function together(states: readonly NodeState[]): Problem | undefined {
  if (states.length === 0) {
    const message = 'no node has this network: see spec.nodeSelector, spec.excludeNodes and the labels of nodes';
    return { code: 'NoNodes', message };
  }
  const missing = states.flatMap(({ node, problem }) => (problem === undefined ? [] : [{ node, ...problem }]));
  const [first] = missing;
  if (first === undefined) return undefined;
  const code = missing.every((one) => one.code === first.code) ? first.code : 'NodesNotReady';
  const sentences = missing.slice(0, namedNodes).map(({ node, message }) => `${node}: ${message}`);
  const rest = missing.length > namedNodes ? [`and ${missing.length - namedNodes} more nodes`] : [];
  const message = `${missing.length} of ${states.length} nodes without it: ${[...sentences, ...rest].join('; ')}`;
  return { code, message };
}

export interface NetworkNodes {
  readonly ready: readonly string[];
  readonly notReady: readonly string[];
}

/** Nodes that should have the network, by the report of their daemons. */
export function nodesOf(view: View, network: ProviderNetwork): NetworkNodes {
  const states = statesOf(view, network);
  const names = (isReady: boolean): readonly string[] =>
    states.filter(({ problem }) => (problem === undefined) === isReady).map(({ node }) => node);
  return { ready: names(true), notReady: names(false) };
}

export function planProviderNetworkStatus(view: View, network: ProviderNetwork): Readonly<Record<string, unknown>> {
  const { ready, notReady } = nodesOf(view, network);
  return {
    ready: ready.length > 0 && notReady.length === 0,
    readyNodes: ready.slice(0, mostNodes),
    notReadyNodes: notReady.slice(0, mostNodes),
    vlans: vlansOf(view, network.name),
  };
}

/** `Ready` of the network, with an empty node, and of each of its nodes. */
export function planProviderNetworkConditions(view: View, network: ProviderNetwork): readonly WantedCondition[] {
  const states = statesOf(view, network);
  const obstacle = deletionOf(view, network) ?? together(states);
  const of = (node: string, problem: Problem | undefined, message: string): WantedCondition => ({
    type: 'Ready',
    node,
    status: problem === undefined ? 'True' : 'False',
    reason: problem?.code ?? 'Joined',
    message: problem?.message ?? message,
    observedGeneration: network.generation,
  });
  const whole = `${states.length} ${states.length === 1 ? 'node has' : 'nodes have'} it`;
  return [
    of('', obstacle, whole),
    ...states.slice(0, mostNodes).map(({ node, problem, message }) => of(node, problem, message)),
  ];
}

/** The parts of a node that are read here; `watch/` keeps only annotations of Isthmus. */
function textOf(node: Node | undefined): string {
  if (node === undefined) return '';
  const reports = Object.entries(node.annotations).filter(([key]) => key.includes('.provider-network.'));
  return JSON.stringify([node.labels, reports]);
}

function reportProviderNetwork(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'providerNetworks', name } as const;
  const network = view.providerNetworks.get(name);
  if (network === undefined) return [{ object }];
  const conditions = planProviderNetworkConditions(view, network);
  const events = readinessEvents('ProviderNetwork', network, conditions);
  const fields = planProviderNetworkStatus(view, network);
  // Every node turns a condition of its own: a large cluster that starts would write once for each.
  const status = { fields, conditions, events, rateLimit: 'all' } as const;
  return [{ object, finalizers: finalizersWhile(isNeeded(view, name), network), status }];
}

/** Keys: the ProviderNetwork. */
export const providerNetworkFeature: Feature = {
  name: 'provider-network',
  all: (view) => view.providerNetworks.keys(),
  reads(change, view) {
    if (change.kind === 'providerNetworks') return [change.name];
    if (change.kind === 'nodes')
      return textOf(change.before) === textOf(change.after) ? [] : view.providerNetworks.keys();
    if (change.kind === 'verdicts')
      return new Set([change.before, change.after].flatMap((verdict) => verdict?.net?.underlay?.provider ?? []));
    if (change.kind !== 'vlans') return [];
    return new Set([change.before, change.after].flatMap((vlan) => (vlan === undefined ? [] : [vlan.spec.provider])));
  },
  report: reportProviderNetwork,
};
