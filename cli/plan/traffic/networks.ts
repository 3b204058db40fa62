/**
 * Chooses the networks, Subnets and nodes of the test pods. In: the clusters. Out: test networks, and checks for what cannot be tested. Pure.
 * Called by `ic verify --pods`.
 */
import { defaultSubnet } from '../../../lib/api/names.ts';
import type { TestEnd, TestFlow, TestNetwork } from '../../model/test-traffic.ts';
import { conditionOf, isHidden, type Node, type Snapshot, type Subnet } from '../../model/snapshot.ts';
import { deniedTo, whyNotOffered } from '../diagnose/prefixes.ts';
import { usableGateways } from '../diagnose/gateways.ts';
import type { Check } from '../verify.ts';

/** Names of the Namespaces of test pods begin with it. */
export const testNamespacePrefix = 'isthmus-verify-';

export interface TestPlan {
  readonly networks: readonly TestNetwork[];
  readonly problems: readonly Check[];
}

/** Every transit switch that two of these clusters take part in. */
export function planTests(clusters: readonly Snapshot[]): TestPlan {
  const names = new Set(clusters.flatMap(({ transitSwitches }) => transitSwitches.map(({ name }) => name)));
  const problems: Check[] = [];
  const networks = [...names].sort().flatMap((transitSwitch) => {
    const members = clusters.filter((one) => vpcIn(one, transitSwitch) !== undefined);
    if (members.length < 2) return [];
    const ends = members.flatMap((one) => {
      const end = endOf(one, transitSwitch, members);
      if (typeof end !== 'string') return [end];
      problems.push({ cluster: one.label, name: `test pods on ${transitSwitch}`, isWell: false, evidence: end });
      return [];
    });
    return ends.length < 2 ? [] : [{ transitSwitch, namespace: `${testNamespacePrefix}${transitSwitch}`, ends }];
  });
  if (networks.length === 0 && problems.length === 0)
    problems.push({
      cluster: clusters.map(({ label }) => label).join(', '),
      name: 'test pods',
      isWell: false,
      evidence: 'no transit switch has two of these clusters: isthmus ic status lists those of each',
    });
  return { networks, problems };
}

export function flowsOf(network: TestNetwork): readonly TestFlow[] {
  return network.ends.flatMap((from) =>
    network.ends.filter((to) => to !== from).map((to): TestFlow => ({ network, from, to })),
  );
}

/** The VPC of a cluster that takes part in a transit switch; undefined if none does. */
function vpcIn({ interconnect, transitSwitches }: Snapshot, name: string): string | undefined {
  const found = interconnect && transitSwitches.find((one) => one.name === name);
  return found && (found.status.vpc ?? found.spec.vpc);
}

/** @returns the reason why there can be no test pods */
function endOf(near: Snapshot, transitSwitch: string, members: readonly Snapshot[]): TestEnd | string {
  const vpc = vpcIn(near, transitSwitch) ?? '';
  if (isHidden(near, 'subnets') || isHidden(near, 'nodes')) return 'no permission to read Subnets and Nodes';
  const own = near.subnets.filter((subnet) => subnet.vpc === vpc && !subnet.isJoin);
  const offered = own.filter((subnet) => whyNotOffered(near, subnet) === undefined);
  const others = members.filter((one) => one !== near).map(({ label }) => label);
  const rank = (subnet: Subnet): readonly number[] => [
    others.filter((cluster) => isDenied(near, subnet, cluster)).length,
    subnet.allowed === undefined ? 0 : 1,
    subnet.name === defaultSubnet ? 0 : 1,
  ];
  const [subnet] = offered.toSorted((a, b) => compare(rank(a), rank(b)) || (a.name < b.name ? -1 : 1));
  if (subnet === undefined) {
    const [first] = own.flatMap((one) => whyNotOffered(near, one) ?? []);
    return first?.message ?? `the VPC ${vpc} has no Subnet`;
  }
  const nodes = placesOf(near);
  if (nodes === undefined) return 'no node is Ready';
  return { cluster: near.label, vpc, subnet: subnet.name, nodes };
}

function isDenied(near: Snapshot, subnet: Subnet, cluster: string): boolean {
  return subnet.cidrs.some((cidr) => deniedTo(cluster, near, subnet, cidr) !== undefined);
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** The server is on a node that is no gateway, the client on a gateway, if there are both: packets then take every kind of way. */
function placesOf(near: Snapshot): TestEnd['nodes'] | undefined {
  const ready = near.nodes.filter(isReady).map(({ name }) => name);
  const gateways = new Set(usableGateways(near).map(({ node }) => node));
  const server = ready.find((name) => !gateways.has(name)) ?? ready[0];
  if (server === undefined) return undefined;
  const rest = ready.filter((name) => name !== server);
  return { server, client: rest.find((name) => gateways.has(name)) ?? rest[0] ?? server };
}

function isReady({ labels, conditions }: Node): boolean {
  const isLinux = (labels['kubernetes.io/os'] ?? 'linux') === 'linux';
  const hasNetwork = conditionOf(conditions, 'NetworkUnavailable')?.status !== 'True';
  return isLinux && hasNetwork && conditionOf(conditions, 'Ready')?.status === 'True';
}
