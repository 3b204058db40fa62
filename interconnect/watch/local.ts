/** Puts this cluster together from its parts; the same parts give the same object, so that plans can be remembered. */
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import type { GatewayNode, LocalChassis, LocalView } from '../state/local.ts';
import { matchesSelector } from '../../lib/api/label-selector.ts';
import type { Node, Subnet } from './objects.ts';

export interface LocalParts {
  readonly spec: InterconnectSpec;
  readonly routerId: string;
  readonly subnets: Iterable<readonly [string, Subnet]>;
  readonly nodes: Iterable<readonly [string, Node]>;
  readonly chassis: ReadonlyMap<string, LocalChassis>;
}

export function buildLocal(parts: LocalParts, before: LocalView | undefined): LocalView {
  const { spec, routerId, chassis } = parts;
  const subnets = [...parts.subnets].filter(([, subnet]) => subnet.vpc === spec.vpc);
  const nodes = [...parts.nodes];
  const ranges = subnets.flatMap(([name, { cidrs }]) => cidrs.map((cidr) => ({ name: `subnet ${name}`, cidr })));
  const prefixes = subnets.flatMap(([, { isShared, cidrs }]) => (isShared ? cidrs.map(formatCidr) : []));
  const local: LocalView = {
    cluster: spec.clusterName,
    router: spec.vpc,
    routerId,
    prefixes: [...new Set(prefixes)].sort(),
    ranges: ranges.sort((a, b) => (a.name < b.name ? -1 : 1)),
    nodeAddresses: nodes.flatMap(([node, { addresses }]) => addresses.map((ip) => ({ node, ip }))),
    gatewayNodes: nodes.flatMap(([name, node]) =>
      matchesSelector(spec.gatewayNodeSelector, node.labels) ? gatewayOf(name, node, chassis) : [],
    ),
    chassis,
  };
  return before !== undefined && textOf(before) === textOf(local) ? before : local;
}

function gatewayOf(node: string, { chassis }: Node, known: LocalParts['chassis']): readonly GatewayNode[] {
  const byHost = [...known].find(([, { gateway }]) => gateway.hostname === node)?.[0];
  const name = chassis ?? byHost;
  return name === undefined ? [] : [{ node, chassis: name }];
}

function textOf(local: LocalView): string {
  return JSON.stringify(local, (_, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    return value instanceof Map ? [...value.entries()] : value;
  });
}
